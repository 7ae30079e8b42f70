"""Formats of what command-line tools print: one small file per program."""
