"""Runs of any algorithm, recorded by the fields of its state."""
