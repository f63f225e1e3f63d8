"""Proofs by machine: identities and scalar facts that hold for all parameters."""

from stemtheory.certificates.lemmas import UnprovedError as UnprovedError
from stemtheory.certificates.lemmas import provable as provable
from stemtheory.certificates.lemmas import prove as prove
