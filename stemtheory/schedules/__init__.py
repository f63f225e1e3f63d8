"""Step sizes and momenta by name, and the trade-off curves of (b, I)."""

from stemtheory.schedules.by_name import (
    Constant,
    Curve,
    Practical,
    Schedule,
    Theorem,
    check_options,
    fedavg_curve,
    make_schedule,
    round_up,
    stem_curve,
)
from stemtheory.schedules.curves import FEDAVG_TRADE_OFF, STEM_TRADE_OFF, TradeOff, check_nu
from stemtheory.schedules.fedavg_stepsizes import FedAvgTheorem, largest_minibatch, shortest_run
from stemtheory.schedules.stepsizes import (
    coupled,
    numbers,
    theorem_c_b,
    theorem_eta,
    theorem_offset,
    theorem_sum_eta_cubed,
    times,
)
