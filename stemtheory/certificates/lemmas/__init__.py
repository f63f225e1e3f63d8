"""One-step lemmas as identities and lines between numbers, proved for all parameters."""

from stemtheory.certificates.lemmas.proofs import proof_of as proof_of
from stemtheory.certificates.lemmas.proofs import provable as provable
from stemtheory.certificates.lemmas.proofs import prove as prove
from stemtheory.certificates.lemmas.scalars import UnprovedError as UnprovedError
