"""Proofs by machine of one round's inequality, checked in exact fractions."""

from stemtheory.certificates.attacking import Worst, attack
from stemtheory.certificates.file import fingerprint, in_file, locate, read, shipped, why_not
from stemtheory.certificates.finding import Certified, find, refuse_the_large, size
from stemtheory.certificates.meaning import ASSUMED, GLUE, JUMP, beside, constants, rows_of_shipped
from stemtheory.certificates.solve import Weights
from stemtheory.certificates.statement import Statement, stated
