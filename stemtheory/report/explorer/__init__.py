"""The explorer: bounds, schedules, exact moments under sliders, one page without a network."""

from stemtheory.report.explorer.page import NAME, explorer_page, write_explorer
