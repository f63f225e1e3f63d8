"""The explorer: bounds, schedules, exact moments under sliders, one page without a network."""
