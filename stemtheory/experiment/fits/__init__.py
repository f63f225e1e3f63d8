"""Exponents of sweeps, T(epsilon), and steps tuned by one rule."""
