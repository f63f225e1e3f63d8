"""Figure ``systems`` with all its panels: rounds, samples and vectors over zeta, I, K and epsilon.

Paper: Table: Comparison.
"""

from stemtheory.figures.systems import caption_all, draw_all, table
from stemtheory.report import Figure

SUMMARY = "the appendix of systems: rounds, samples and vectors over zeta, I, K and epsilon"
ENTRY = Figure(
    "systems_all",
    SUMMARY,
    table,
    draw_all,
    caption_all,
    size=(10.4, 11.4),
    sweep="systems",
    report_mode="quick",
)
