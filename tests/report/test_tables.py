"""Cells of tables and numbers of axes: one style of large numbers."""

import pytest

from stemtheory.report.figure_table import FigureTable, Quantity
from stemtheory.report.panels import Panel
from stemtheory.report.tables import shown
from stemtheory.runtime import large


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5160, "5,160"),
        (51_600, "51,600"),
        (999_999, "999,999"),
        (1_000_000, "1e+06"),
        (51_600_000, "5.16e+07"),
        (-51_600_000.0, "-5.16e+07"),
    ],
)
def test_a_large_number_looks_alike_whatever_it_is_and_wherever_it_stands(
    value: float, text: str
) -> None:
    from matplotlib.figure import Figure

    assert large(value) == text
    assert shown(int(value)) == text
    assert shown(float(value)) == ("1e+06" if value == 999_999 else text)  # three digits
    table = FigureTable.of((Quantity("x"), Quantity("y")), [{"x": [1.0], "y": [1.0]}])
    ax = Figure().subplots()
    Panel(ax, table, "x", "y", log="", plain="xy")
    assert ax.xaxis.get_major_formatter()(value) == text
