"""Many small real trainings with a known cause, to develop rules on and to test them. See docs/lab.md."""
