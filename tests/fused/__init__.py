"""Tests of the fused engine."""
