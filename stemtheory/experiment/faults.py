"""What can go wrong with a sweep although the request was sound; the command line exits with 1."""

from __future__ import annotations

import signal


class StoreError(RuntimeError):
    """The store cannot be used; its text is one sentence with what to do."""


class DamagedStoreError(StoreError):
    """The store's file does not hold what was written; nothing was touched."""


class FullStoreError(StoreError):
    """No room is left; what was written before is kept."""


class LostStoreError(StoreError):
    """The store was deleted or replaced while it was written."""


class BusyStoreError(StoreError):
    """Another sweep writes to the store."""


class WorkersLostError(RuntimeError):
    """The workers went away altogether; what they had finished is kept."""


class SweepStopped(KeyboardInterrupt):
    """A signal ended a sweep after the cells in flight were written; ``code`` is 128 + signal."""

    def __init__(self, number: int, done: int, left: int, resume: str) -> None:
        name = signal.Signals(number).name
        super().__init__(
            f"stopped by {name} with {done} cells written and {left} left: {resume} to resume."
        )
        self.code = 128 + number
