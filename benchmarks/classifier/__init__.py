"""How well the classifier works on generated curves, known trainings and labelled runs: see __main__.py."""
