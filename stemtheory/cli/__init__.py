"""The command line: commands, their options, and what they print."""

from stemtheory.cli.app import main

__all__ = ["main"]
