"""Theorem R*: constant steps, small constants and no logarithm (docs/theorem-rstar.md)."""
