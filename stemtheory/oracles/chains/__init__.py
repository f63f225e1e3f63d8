"""Chains: lower bounds as problems, their links, their entry and their witnesses."""
