"""Tests of `stemtheory`, one file per module of the engine."""
