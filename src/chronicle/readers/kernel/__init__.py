"""Compiled scanners: blocks of tables in, cells out; blocks of event files in, scalars out.

The functions here are plain scalar Python over arrays of bytes that numba compiles (`compiled`). They read
what loggers write and mark all else: the careful readers in `csv_tables`, `json_lines` and `event_scalars`
read that, and are the oracle of the tests.
"""
