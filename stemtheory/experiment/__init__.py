"""Sweeps: a TOML file becomes cells, cells become rows of a store, rows become a table."""

from typing import TYPE_CHECKING

from stemtheory._faces import face

if TYPE_CHECKING:
    from stemtheory.experiment.design.points import NO_CURVE, Machine, points
    from stemtheory.experiment.design.spec import Spec, load_spec, parse_spec
    from stemtheory.experiment.design.where import condition
    from stemtheory.experiment.execute.executors import MOST_JOBS
    from stemtheory.experiment.execute.forecast import weight
    from stemtheory.experiment.execute.work import run_cell
    from stemtheory.experiment.execute.workers import shared_workers
    from stemtheory.experiment.faults import StoreError, SweepStopped, WorkersLostError
    from stemtheory.experiment.fits.exponents import Fit
    from stemtheory.experiment.fits.targets import Target
    from stemtheory.experiment.fits.tuning import Tuned, tuned
    from stemtheory.experiment.store.results import Store
    from stemtheory.experiment.store.tables import (
        CellRecords,
        cell_records,
        export_records,
        point_records,
        swept_columns,
    )
    from stemtheory.experiment.stored import stored_sweep, sweep_for, swept
    from stemtheory.experiment.sweep import Progress, SweepResult, planned, run_sweep

__getattr__, __dir__ = face(__name__)
