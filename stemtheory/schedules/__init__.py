"""Step sizes and momenta by name, and the trade-off curves of (b, I)."""

from typing import TYPE_CHECKING

from stemtheory._faces import face

if TYPE_CHECKING:
    from stemtheory.schedules.by_name import (
        SCHEDULES,
        Conditions,
        Maker,
        Schedule,
        check_options,
        make_schedule,
    )
    from stemtheory.schedules.curves import (
        FEDAVG_TRADE_OFF,
        STEM_TRADE_OFF,
        Curve,
        TradeOff,
        check_nu,
        fedavg_curve,
        round_up,
        stem_curve,
    )
    from stemtheory.schedules.fedavg_stepsizes import (
        FedAvgCalibrated,
        FedAvgTheorem,
        fedavg_eta,
        largest_minibatch,
        shortest_run,
    )
    from stemtheory.schedules.rstar import BOTH, RSTAR_STEPS, RStar, RStarSteps
    from stemtheory.schedules.stepsizes import (
        Calibrated,
        Constant,
        Practical,
        Theorem,
        coupled,
        numbers,
        theorem_c_b,
        theorem_eta,
        theorem_offset,
        theorem_sum_eta_cubed,
        times,
    )

__getattr__, __dir__ = face(__name__)
