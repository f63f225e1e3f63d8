"""What every room uses: errors, arrays, backends, streams of random numbers, files."""

from stemtheory.runtime.arrays import Floats, Ints, own_errors
from stemtheory.runtime.backend import (
    BACKENDS,
    Backend,
    is_out_of_memory,
    numpy_backend,
    resolve,
    unavailable,
)
from stemtheory.runtime.blame import own_line, raised
from stemtheory.runtime.blas import BLAS_THREADS, one_blas_thread
from stemtheory.runtime.copies import Portable, by_name, refuse_unpicklable
from stemtheory.runtime.errors import (
    UsageError,
    callback,
    choice,
    file_path,
    kept,
    mapping,
    real,
    several,
    truth,
    whole,
    within_floats,
)
from stemtheory.runtime.files import (
    cache_folder,
    is_out_of_handles,
    part_file,
    try_file,
    write_file,
    write_whole,
)
from stemtheory.runtime.fingerprints import (
    FINGERPRINT,
    code_of,
    data_of,
    own_source,
    package_fingerprint,
    stamp_of,
)
from stemtheory.runtime.jsontext import canonical, each_json, to_json
from stemtheory.runtime.npz import read_npz, refuse_misfits
from stemtheory.runtime.numerals import counted, large, rounded
from stemtheory.runtime.philox import (
    MOST_ITERATIONS,
    MULTIPLIERS,
    PURPOSES,
    ROUNDS,
    WEYL,
    PhiloxStream,
)
from stemtheory.runtime.processes import cores, machine_bytes, shared_processes, side_by_side
from stemtheory.runtime.progress import (
    MODES,
    Listener,
    counter,
    heard_by,
    listener,
    part,
    uncounted,
)
from stemtheory.runtime.signals import WAITING, Stop, say_waiting
from stemtheory.runtime.streams import (
    REPLICATE_BLOCK,
    STREAM_VERSION,
    NoiseKey,
    SideBySide,
    blocks,
    generator,
)
from stemtheory.runtime.verdict import DECIDING, Verdict, combine, t_quantile
