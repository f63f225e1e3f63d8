"""The fused engine on a CUDA device: a page of design.

**What it is.** The recursions of ``fused/systems``, element by element
the same text that a processor compiles, with another way to share out the work. It has been checked
in every way but on a card (below), so ``auto`` never takes it: ``--backend cupy --engine fused``
does.

**How the work is shared out** (``layout``). Coordinates of a separable problem never meet, so a
block of threads owns some of them, with all of their workers, and no block waits for another. A
thread owns a few workers of a column, keeps their rows of state in registers, and draws their noise
at the addresses of ``runtime/philox.py``: a run has the numbers that ``noise_source="philox"`` has
anywhere.

**What meets** (``kernel``, ``rounds``). Only means over workers: parts of a sum go through shared
memory and are added in the order of the lanes, which follows from the sizes and never from a card.
So replicates, groups, segments and cards change no bit. Norms of ||grad f(xbar_t)||^2 wait in
shared memory for sixteen iterations and leave a launch as one small array; a second kernel books
them.

**How it is made** (``build``, ``device``). Functions are copied with a dictionary for their
globals: sizes as constants, so that loops unroll and rows are registers; the problem's formula; and
what a machine calls fma or a thread's index. The machine may be a compiler for CUDA, Python (the
simulated device of the tests), or numba's own simulator: one text, three readers. ``np`` in a
formula stands for what a device has, and a name that it lacks is refused by name.

**The host's side** (``engine``). A ``GroupRunner`` as the processor's is: tables of a segment go
out, one launch advances every replicate of a group, checkpoints hold the state. This folder rests
on the modules of ``fused`` and is known to its ``__init__`` alone.

**What was checked.** Indices, meetings and the host's side on a simulated device that finds every
race; every problem, algorithm and reading compiled to PTX and machine code, without calls, spills
or a float64 where float32 should be; PTX executed in Python, instruction by instruction, against
the array engine. ``docs/backends.md`` has the numbers. **What was not:** a launch on a card. Tests
marked ``gpu`` and ``benchmarks/gpu_check.py`` are written for that day.
"""
