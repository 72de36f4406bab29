"""Tiny real trainings with a known fault, which make specimens for runs/. See lab/README.md."""
