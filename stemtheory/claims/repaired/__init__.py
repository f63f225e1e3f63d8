"""The repaired theorem, line by line."""
