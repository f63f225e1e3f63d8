"""Pictures of one command's answer: the costs behind an advice, the sides of a probe."""

from stemtheory.report.plots.costs import draw_costs
from stemtheory.report.plots.probe import draw_probe
