"""Measurements of speed, memory and correctness, each a script that prints its table.

A user's Python keeps what it has compiled. Without that, every process that a script starts would compile all
modules anew, which takes a third of a second and more, and no user waits for it.
"""

import os

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
