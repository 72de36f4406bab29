"""How well the classifier sees, on generated curves, trainings of known cause, and labelled runs.

python -m benchmarks.classifier [--quick]                 # generated, specimens, lab
python -m benchmarks.classifier --only spikes,healthy     # parts of it
python -m benchmarks.classifier --exam NAME=DIR           # labelled runs elsewhere: every look is logged
"""
