"""What people look at: figures, pages, tables."""

from typing import TYPE_CHECKING

from stemtheory._faces import face

if TYPE_CHECKING:
    from stemtheory.report import palette
    from stemtheory.report.appendix import claims_latex, verdicts_latex, verdicts_markdown
    from stemtheory.report.drawing import Figure, Progress, draw_figures, writable_folder
    from stemtheory.report.figure_table import FigureTable, Quantity
    from stemtheory.report.formula import plain
    from stemtheory.report.ledger_rows import READINGS, LedgerLine, excess, lines, matrix
    from stemtheory.report.panels import Panel, drawable
    from stemtheory.report.plots import draw_cells, draw_costs, draw_probe
    from stemtheory.report.proof_text import certificate_latex, proof_lines
    from stemtheory.report.tables import Column, Table, Value
    from stemtheory.report.trace_files import targets

__getattr__, __dir__ = face(__name__)
