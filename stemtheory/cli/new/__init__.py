"""Skeletons of packs, problems, algorithms, claims, figures and sweeps."""

from stemtheory.cli.new.command import register
