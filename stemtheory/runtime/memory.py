"""How much memory there is."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

GROUP_LIMITS = (  # of control groups, version 2 and 1: what a job or a container may take
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def machine_bytes() -> int:
    """Return the memory of this machine, or of the control group if that is less, in bytes."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for file in GROUP_LIMITS:
        with contextlib.suppress(OSError, ValueError):  # there is none, or it says "max"
            found.append(int(file.read_text()))
    return min(found)
