"""Compile kernels side by side, before the first of them is launched; Triton itself compiles one after another."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from triton.runtime.jit import JITFunction

MOST_THREADS = 32
_EMPTY = (torch.empty, torch.empty_like, Tensor.new_empty)
_run = JITFunction.run


@dataclass(frozen=True)
class _Pointer:
    """What Triton asks of a tensor, without keeping its memory."""

    dtype: torch.dtype
    remainder: int

    def data_ptr(self) -> int:
        return self.remainder


class Launch(NamedTuple):
    """A launch that was requested but did not take place."""

    kernel: Any
    arguments: tuple[Any, ...]
    options: tuple[tuple[str, Any], ...]

    @property
    def variant(self) -> tuple[Any, ...]:
        """Launches with equal variants run the same machine code."""
        known = {parameter.name: parameter for parameter in self.kernel.params}
        given = [*zip(known, self.arguments, strict=False), *self.options]
        return self.kernel, *((name, _kind(value, known.get(name))) for name, value in given)

    def compile(self) -> None:
        """Compile the kernel, or load it from Triton's cache, and load it onto the device."""
        compiled = _run(self.kernel, *self.arguments, grid=(1,), warmup=True, **dict(self.options))
        if compiled is not None and torch.cuda.is_initialized():
            compiled._init_handles()  # also builds its launcher, with a C compiler


def compile_together(work: Callable[[], None]) -> None:
    """Compile all kernels that ``work`` launches; ``work`` runs once, but its kernels do not.

    Their outputs are zero, so that indices remain valid. What ``work`` changes must be restored afterwards, and nothing
    that it computes may be kept. An error is not reported here, because the launch itself will raise it.
    """
    compile_all(requested(work))


def requested(work: Callable[[], None]) -> list[Launch]:
    """The launches of ``work``, one of each variant, without performing them."""
    found: list[Launch] = []
    with _collected(found), _Zeros():
        work()
    return list({launch.variant: launch for launch in found}.values())


def compile_all(launches: Iterable[Launch]) -> list[BaseException | None]:
    """Compile the kernels in parallel and return the error of each, if any; most of the work releases the GIL."""
    current = (torch.cuda.set_device, (torch.cuda.current_device(),)) if torch.cuda.is_initialized() else (None, ())
    with ThreadPoolExecutor(min(os.cpu_count() or 1, MOST_THREADS), "", *current) as pool:
        return [done.exception() for done in [pool.submit(launch.compile) for launch in launches]]


@contextmanager
def _collected(found: list[Launch]) -> Iterator[None]:
    def collect(kernel: Any, *arguments: Any, grid: Any, warmup: bool, **options: Any) -> None:
        plain = tuple(_plain(one) for one in arguments)
        found.append(Launch(kernel, plain, tuple((name, _plain(one)) for name, one in options.items())))

    JITFunction.run = collect
    try:
        yield
    finally:
        JITFunction.run = _run


def _kind(value: Any, parameter: Any) -> Any:
    """Triton distinguishes values of constants, and integers that are one or a multiple of 16."""
    if parameter is None or parameter.is_constexpr or type(value) not in (int, float):
        return value
    return type(value) if parameter.do_not_specialize or type(value) is float else (value == 1, value % 16 == 0)


def _plain(argument: Any) -> Any:
    return _Pointer(argument.dtype, argument.data_ptr() % 16) if isinstance(argument, Tensor) else argument


class _Zeros(TorchFunctionMode):
    """Fill new tensors with zeros."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        return made.zero_() if func in _EMPTY else made
