"""Step sizes and momenta by name, and the trade-off curves of (b, I)."""
