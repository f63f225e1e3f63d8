"""Chains: instances of lower bounds, their links, their coin, their constants with witnesses."""
