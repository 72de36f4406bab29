"""One kernel for batch and stream: a pyramid of CUSUM detectors with the memory of open events.

layout.py   the memory: names of all places, with units
warmup.py   log units, and the noise of the first samples
levels.py   one level: references without lag, noise scale, CUSUM
watch.py    a quiet sample: the pyramid, the tail, what opens an event
baseline.py the level before an event, moved on
events.py   the life of an event
falls.py    sustained falls
lookback.py questions about the last samples: onset, jump or ramp
step.py     one step; a batch is this step in a loop
compiled.py the same source through numba

Uncompiled it is the oracle: results are bitwise the same. docs/classifier.md explains it in a page.
"""
