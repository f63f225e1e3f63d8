"""The explorer's page, made of its templates and of what Python knows."""

from __future__ import annotations

from pathlib import Path

TEMPLATES = Path(__file__).with_name("templates")
