"""The language of claims: one expression per line, from which everything else follows."""

from stemtheory.claims.language import letters as letters
from stemtheory.claims.language.algebra import excess as excess
from stemtheory.claims.language.algebra import known as known
from stemtheory.claims.language.algebra import meant as meant
from stemtheory.claims.language.evaluation import EPS as EPS
from stemtheory.claims.language.evaluation import Evaluation as Evaluation
from stemtheory.claims.language.evaluation import Scene as Scene
from stemtheory.claims.language.evaluation import Times as Times
from stemtheory.claims.language.expression import At as At
from stemtheory.claims.language.expression import Expr as Expr
from stemtheory.claims.language.expression import Index as Index
from stemtheory.claims.language.expression import Inner as Inner
from stemtheory.claims.language.expression import Line as Line
from stemtheory.claims.language.expression import Number as Number
from stemtheory.claims.language.expression import Over as Over
from stemtheory.claims.language.expression import Power as Power
from stemtheory.claims.language.expression import Q as Q
from stemtheory.claims.language.expression import Step as Step
from stemtheory.claims.language.expression import Sum as Sum
from stemtheory.claims.language.expression import Symbol as Symbol
from stemtheory.claims.language.expression import chain as chain
from stemtheory.claims.language.expression import equal as equal
from stemtheory.claims.language.printing import latex as latex
from stemtheory.claims.language.units import checked as checked
