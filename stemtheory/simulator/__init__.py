"""From a checked run to a trace: sizes, engines, what was measured and what it cost."""

from typing import TYPE_CHECKING

from stemtheory._faces import face

if TYPE_CHECKING:
    from stemtheory.algorithms import Counts
    from stemtheory.simulator.array_engine import Plan
    from stemtheory.simulator.choices import (
        COMMON_DIALS,
        DEFAULT,
        AlgorithmChoice,
        Numerics,
        Pairs,
        ProblemChoice,
        ScheduleChoice,
        pairs,
    )
    from stemtheory.simulator.fused import compiles
    from stemtheory.simulator.fused import missing as missing_compiler
    from stemtheory.simulator.fused.cuda.engine import DeviceRunner
    from stemtheory.simulator.fused.engine import Runner
    from stemtheory.simulator.fused.sharing import together
    from stemtheory.simulator.hitting import (
        RESAMPLES,
        HittingTime,
        hitting_time,
        interval,
        last_crossing,
        resampled_means,
    )
    from stemtheory.simulator.limits import ARRAY_BYTES, DIVERGED, refuse_the_endless
    from stemtheory.simulator.memory import large, refuse_the_huge
    from stemtheory.simulator.run import (
        DTYPES,
        ENGINES,
        NOISE_SOURCES,
        Asked,
        Margin,
        Run,
        own_start,
        spelled,
        start_of,
    )
    from stemtheory.simulator.simulation import simulate
    from stemtheory.simulator.sizes import (
        Sizes,
        refuse_nu_beside,
        resolve_schedule,
        resolve_sizes,
        with_sync_batch,
    )
    from stemtheory.simulator.stepwise import Draw, Visit, gaussian_draw, walk
    from stemtheory.simulator.trace import Circumstances, Trace

__getattr__, __dir__ = face(__name__)
