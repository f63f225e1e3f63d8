"""Proofs by machine: of a round in exact fractions, and of lines for all parameters."""

from typing import TYPE_CHECKING

from stemtheory.runtime import face

if TYPE_CHECKING:
    from stemtheory.certificates.attack import attacked
    from stemtheory.certificates.file import fingerprint, in_file, locate, read, shipped, why_not
    from stemtheory.certificates.finding import Certified, find, refuse_the_large, size
    from stemtheory.certificates.lemmas import UnprovedError, provable, prove
    from stemtheory.certificates.meaning import (
        ASSUMED,
        CLAIM,
        GLUE,
        JUMP,
        beside,
        constants,
        rows_of_shipped,
    )
    from stemtheory.certificates.solve import Weights
    from stemtheory.certificates.statement import Statement, stated

__getattr__, __dir__ = face(__name__)
