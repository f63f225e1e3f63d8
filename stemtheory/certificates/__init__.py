"""Proofs by machine: of a round in exact fractions, and of lines for all parameters."""

from typing import TYPE_CHECKING

from stemtheory._faces import face

if TYPE_CHECKING:
    from stemtheory.certificates.attack import attacked
    from stemtheory.certificates.file import fingerprint, in_file, locate, read, shipped, why_not
    from stemtheory.certificates.finding import (
        Certified,
        find,
        least_constant,
        refuse_the_large,
        size,
    )
    from stemtheory.certificates.lemmas import UnprovedError, proof_of, provable, prove
    from stemtheory.certificates.lemmas.statement import PACKS
    from stemtheory.certificates.meaning import (
        ASSUMED,
        GLUE,
        JUMP,
        beside,
        constants,
        is_certified,
        rows_of_shipped,
        weighed,
    )
    from stemtheory.certificates.solve import Weights, solvable
    from stemtheory.certificates.statement import Statement, stated

__getattr__, __dir__ = face(__name__)
