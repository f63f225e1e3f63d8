"""Floors: what no algorithm of the catalogue goes below, counted on instances that run."""
