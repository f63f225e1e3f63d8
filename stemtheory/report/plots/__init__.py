"""Pictures of one command's answer: costs behind an advice, sides of a probe, cells of a store."""

from stemtheory.report.plots.cells import draw_cells
from stemtheory.report.plots.costs import draw_costs
from stemtheory.report.plots.probe import draw_probe
