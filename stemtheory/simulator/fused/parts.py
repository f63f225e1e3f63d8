"""How numba compiles what only kernels call: to code that waits for the kernel's own passes.

numba hands a function to LLVM as soon as it is typed, together with all that it calls, so that
an inner loop was optimised, and turned into machine code that nobody called, once for every
function around it: two thirds of the time that a kernel took. A part is linked as it is, and the
kernel is optimised as a whole. Python cannot call a part: there is nothing to be called, and it
crashes. What else is to call one is compiled as a ``KERNEL`` too: otherwise it would be linked, by
name, to the copy of a kernel of the same process, which is handed fewer arguments.

The names that begin with an underscore are numba's own, overridden here: were they renamed, parts
would again be compiled one by one, with the same results.
"""

from __future__ import annotations

from typing import Any

from llvmlite.binding import Linkage
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

LINE = 64  # bytes
# No "fast" arithmetic: a sum may not be reordered, nor a product and a sum joined where it suits a
# compiler. So bits depend on no compiler, history or vector width; ``fma`` is written where meant.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


class PartLibrary(JITCodeLibrary):
    """The code of a part, neither optimised nor turned into machine code."""

    inline = True

    @property
    def codegen(self) -> Any:
        """The library itself: all that is asked of it is ``set_env``."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: what is not in memory has no environment there."""

    def get_pointer_to_function(self, name: str) -> int:
        """Return zero, as for any function that Python cannot call."""
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        return 0

    def add_ir_module(self, module: Any) -> None:
        """Add a part's functions; one that is not inlined is to stay a single copy.

        Its stack begins where a cache line does: LLVM would let half of the vectors that do not
        fit the registers lie across two, on every other depth of the stack.
        """
        for function in module.functions:
            if function.blocks and not self.inline:
                function.attributes.add("noinline")
                function.attributes.alignstack = LINE
        super().add_ir_module(module)  # type: ignore[no-untyped-call]

    def _optimize_functions(self, module: Any) -> None:
        """Leave them as they are."""
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Leave it as it is."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True


class KernelLibrary(JITCodeLibrary):
    """The code of a kernel with its parts, which nothing else calls."""

    def _optimize_final_module(self) -> None:
        """Optimise the whole; what only the kernel calls is handed no argument that it ignores."""
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = Linkage.internal
        super()._optimize_final_module()  # type: ignore[no-untyped-call]


class KernelCompiler(Compiler):
    """numba's compiler, into a ``KernelLibrary`` that can be kept on disk."""

    def define_pipelines(self) -> Any:
        """Return numba's own passes."""
        state: Any = self.state
        library: Any = KernelLibrary
        state.library = library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().define_pipelines()  # type: ignore[no-untyped-call]


class PartCompiler(Compiler):
    """numba's compiler, into a ``PartLibrary``."""

    def define_pipelines(self) -> Any:
        """Return numba's own passes."""
        state: Any = self.state
        library: Any = PartLibrary
        state.library = library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.inline = bool(state.flags.forceinline)
        return super().define_pipelines()  # type: ignore[no-untyped-call]


PART: dict[str, Any] = {
    "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": PartCompiler, **OPTIONS,
}  # fmt: skip
KERNEL: dict[str, Any] = {
    "no_cfunc_wrapper": True, "pipeline_class": KernelCompiler, **OPTIONS,
}  # fmt: skip
