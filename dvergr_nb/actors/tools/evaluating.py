"""`python_eval`: code run in a kernel of the agent's own, which lives as long as the Run and is never the person's."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from dvergr_nb.actors.tools.defining import tool_of
from dvergr_nb.actors.tools.outputs import TEXT_LIMIT, Output
from dvergr_nb.actors.tools.thread import in_own_thread
from dvergr_nb.actors.tools.tool import Rich, Tool
from dvergr_nb.errors import BadInput
from dvergr_nb.ids import RunId
from dvergr_nb.records.text import shown
from dvergr_nb.runtime.context import Context

if TYPE_CHECKING:
    from dvergr_nb.actors.tools.own_kernel import OwnKernel

GRACE_S: Final = 2.0
"""How long an interrupted eval may take to stop before its kernel is killed."""


def python_eval(*, timeout: float = 60, memory_mb: int = 2_048) -> Tool:
    """A tool that runs Python in a Jupyter kernel of the agent's own: `timeout` seconds per eval, `memory_mb` for all of it.

    The kernel starts at the first eval of a Run and is killed with every process it has started when the Run ends or is
    stopped. Variables live until then. It works in an empty folder that is removed, without the environment's secrets. It is
    no sandbox: it can read and write what you can.
    """
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < float("inf"):
        raise BadInput(f"the timeout of python_eval is a number of seconds above 0, not {shown(timeout)}")
    if isinstance(memory_mb, bool) or not isinstance(memory_mb, int) or not 256 <= memory_mb <= 1 << 20:
        raise BadInput(f"memory_mb of python_eval is a whole number from 256, not {shown(memory_mb)}")
    kernels = _Kernels(float(timeout), memory_mb)

    async def run(code: str, ctx: Context) -> Rich:
        return await kernels.run(code, ctx)

    about = (
        "Runs Python code in a Jupyter kernel of your own and gives what it prints and the value of its last line. Variables "
        f"stay for later calls. An eval may take {timeout:g} s and use {memory_mb:,} MB; input() is not there."
    )
    return tool_of(run, name="python_eval", description=about)


class _Kernels:
    """The kernels of all Runs that use one such tool."""

    def __init__(self, timeout_s: float, memory_mb: int) -> None:
        self._timeout_s = timeout_s
        self._memory_mb = memory_mb
        self._of_runs: dict[RunId, _Own] = {}

    async def run(self, code: str, ctx: Context) -> Rich:
        own = self._of_runs.get(ctx.run.id)
        if own is None:
            own = self._of_runs[ctx.run.id] = _Own(self._memory_mb)
            ctx.token.add_hook(own, lambda: self._stopped(own, ctx))
            ctx.at_end(lambda: self._ended(own, ctx))
        async with own.lock:
            return await own.run(code, ctx, self._timeout_s)

    def _stopped(self, own: _Own, ctx: Context) -> None:
        """A request to stop, in any thread. One that lets the step finish waits for the end of the Run."""
        if ctx.token.stop is not None and not ctx.token.stop.after_step and own.kernel is not None:
            own.kernel.kill()

    def _ended(self, own: _Own, ctx: Context) -> None:
        self._of_runs.pop(ctx.run.id, None)
        ctx.token.remove_hook(own)
        own.close()


class _Own:
    """The kernel of one Run, made anew where it has died."""

    def __init__(self, memory_mb: int) -> None:
        self.lock = asyncio.Lock()
        self.kernel: OwnKernel | None = None
        self._memory_mb = memory_mb

    async def run(self, code: str, ctx: Context, timeout_s: float) -> Rich:
        from dvergr_nb.actors.tools.own_kernel import KernelDied

        output = Output()
        try:
            await self._within(await self._ready(), code, output, timeout_s)
        except KernelDied as death:
            self.close()
            output.error = "kernel-died"
            output.note(_why(death.status, self._memory_mb))
        except BaseException:
            self.close()
            raise
        return await output.told(ctx)

    async def _ready(self) -> OwnKernel:
        if self.kernel is not None and self.kernel.is_alive:
            return self.kernel
        self.close()
        await in_own_thread(_load)
        from dvergr_nb.actors.tools.own_kernel import OwnKernel

        self.kernel = OwnKernel(self._memory_mb)
        await self.kernel.start()
        return self.kernel

    async def _within(self, kernel: OwnKernel, code: str, output: Output, timeout_s: float) -> None:
        work = asyncio.ensure_future(kernel.run(code, output.take))
        full = asyncio.ensure_future(output.full.wait())
        try:
            await asyncio.wait({work, full}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                why = f"printed over {TEXT_LIMIT:,} characters" if output.full.is_set() else f"took longer than {timeout_s:g} s"
                await self._interrupted(kernel, work, output, why)
            elif not work.cancelled():
                work.result()
        finally:
            full.cancel()
            work.cancel()
            await asyncio.wait({work, full})

    async def _interrupted(self, kernel: OwnKernel, work: asyncio.Future[None], output: Output, why: str) -> None:
        await kernel.interrupt()
        await asyncio.wait({work}, timeout=GRACE_S)
        output.error = "timeout"
        if work.done() and work.exception() is None:
            output.note(f"{why} and was interrupted; variables are still there")
        else:
            self.close()
            output.note(f"{why} and did not stop, so its kernel was killed; the next eval begins without variables")

    def close(self) -> None:
        """Ends the kernel, where there is one. On the loop."""
        kernel, self.kernel = self.kernel, None
        if kernel is not None:
            kernel.close()


def _why(status: int, memory_mb: int) -> str:
    from dvergr_nb.actors.tools.warden import OUT_OF_MEMORY

    how = f"used more than {memory_mb:,} MB and was killed" if status == OUT_OF_MEMORY else f"ended with exit status {status}"
    return f"the kernel {how}; the next eval begins without variables"


def _load() -> None:
    """Loads what a kernel needs; it takes a moment, so not on the loop."""
    import dvergr_nb.actors.tools.own_kernel  # noqa: F401
