"""What the bounds advise, and what their offers take when they are run."""

from stemtheory.bounds.advise.offers import advise

__all__ = ["advise"]
