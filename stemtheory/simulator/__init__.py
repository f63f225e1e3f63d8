"""From a checked run to a trace: sizes, engines, what was measured and what it cost."""
