"""Tests of the algorithms, one file each."""
