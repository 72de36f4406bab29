"""The commands by what they are for; `chronicle.cli` puts them together.

Heavy modules are imported inside the commands, so that `chronicle --help` costs next to nothing.
"""
