"""How well the classifier sees, on generated curves, known trainings and labelled runs: see __main__.py."""
