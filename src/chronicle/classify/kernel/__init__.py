"""One kernel for batch and stream: a pyramid of CUSUM detectors with the memory of open events.

layout.py   the memory: names of all places, with units
levels.py   one level: references without lag, noise scale, CUSUM
lookback.py questions about the last samples: onset, jump or ramp
events.py   the life of an event
step.py     one step; a batch is this step in a loop
compiled.py the same source through numba

docs/classifier.md explains it in a page. Uncompiled it is the oracle: results are bitwise the same.
"""
