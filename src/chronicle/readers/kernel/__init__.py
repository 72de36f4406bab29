"""Compiled scanners of tables: blocks of whole lines in, cells out; what is unusual is left to Python.

The functions here are plain scalar Python over arrays of bytes that numba compiles (`compiled`). They read
the lines that loggers write and mark all others: the careful readers in `csv_tables` and `json_lines` read
those, and are the oracle of the tests.
"""
