"""The version, written here and nowhere else in the code."""

__version__ = "0.2.0"
