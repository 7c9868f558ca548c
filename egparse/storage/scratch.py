"""Arrays in files, for work on more data than fits in memory.

Within ``limited`` every large array that numpy makes, also one that lives only for the length of an
expression, is a mapping of a temporary file: the system writes its pages to the disk and gives
their memory to others as it needs it. Nothing else changes, results least of all: such an array is
an ordinary one to everything that uses it. This is done by numpy's own means, a handler of the
memory of arrays (NEP 49), whose functions are called from C.

The files have no name, so that nothing stays of them, however the program ends. Their room on the
disk is reserved when an array is made: a full disk is an error there, not a signal later.

What is limited is *anonymous* memory, which only swapping could give back: Python's objects, small
arrays, work space. ``RssAnon`` of ``/proc/self/status`` is its size; where the system does not say
it (other systems than Linux), it is not checked.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from egparse.errors import EgparseError

LEAST = 200 << 20
"""Bytes below which no limit can be: the program itself takes about as many."""

_ARRAYS_SHARE = 2048  # an array of more than this share of the limit lies in a file
_LEAST_IN_FILE = 1 << 16
_STATUS = "/proc/self/status"
_CHECKED_FROM = 1 << 20  # bytes of an array whose making is an occasion to look at the memory
# its place in the table of numpy's C interface, which never changes
_SET_HANDLER = 304
_CAPSULE = b"mem_handler"
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)([KMGT]?)(?:i?B)?", re.IGNORECASE)
_SHIFTS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


class Scratch:
    """The files of a run that may use so many bytes of anonymous memory (``limit``).

    ``in_files`` is the number of bytes of arrays that lie in files now, ``most_in_files`` the
    largest so far; ``most_anonymous`` is the most anonymous memory that was seen.
    """

    def __init__(self, limit: int, folder: Path) -> None:
        self.limit, self.folder = limit, folder
        self.least = max(_LEAST_IN_FILE, limit // _ARRAYS_SHARE)
        self.in_files = self.most_in_files = self.most_anonymous = 0
        self.fault: str | None = None

    def file(self) -> int:
        """The descriptor of a new file without a name, to be read and written. Raises OSError: the
        folder cannot be written to.
        """
        with suppress(AttributeError, OSError):  # not everywhere, nor on every file system
            return os.open(self.folder, os.O_TMPFILE | os.O_RDWR, 0o600)
        descriptor, path = tempfile.mkstemp(dir=self.folder)
        os.unlink(path)
        return descriptor

    def require(self, size: int, what: str) -> None:
        """Check that so many more bytes of anonymous memory fit below the limit. Raises
        EgparseError: they do not.
        """
        now = anonymous_memory()
        if now is not None and now + size > self.limit:
            raise EgparseError(
                f"--memory: expected at least {described(now + size)} for {what}, got "
                f"{described(self.limit)}"
            )

    def _map(self, size: int) -> int:
        """The address of a mapping of a new file of so many zeros, 0 if there is a fault."""
        if size >= _CHECKED_FROM:
            now = anonymous_memory() or 0
            self.most_anonymous = max(self.most_anonymous, now)
            if now > self.limit:
                self.fault = (
                    f"--memory: expected to use at most {described(self.limit)}, got "
                    f"{described(now)}: this run cannot do with so little"
                )
                return 0
        try:
            descriptor = self.file()
            try:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(descriptor, 0, size)
                else:
                    os.ftruncate(descriptor, size)
                access = mmap.PROT_READ | mmap.PROT_WRITE
                address = _mmap(None, size, access, mmap.MAP_SHARED, descriptor, 0)
            finally:
                os.close(descriptor)
        except OSError as error:
            self.fault = str(self.no_room(size, error.strerror or str(error)))
            return 0
        if address == _FAILED:
            self.fault = str(self.no_room(size, os.strerror(ctypes.get_errno())))
            return 0
        self.count(size)
        return int(address)

    def count(self, size: int) -> None:
        """Count so many more bytes that lie in files (negative: fewer)."""
        self.in_files += size
        self.most_in_files = max(self.most_in_files, self.in_files)

    def no_room(self, size: int, reason: str) -> EgparseError:
        """The error where the disk has no room for so many more bytes."""
        return EgparseError(
            f"--memory: expected room for another {described(size)} in temporary files, beside "
            f"{described(self.in_files)}, got: {self.folder}: {reason} (TMPDIR names the folder)"
        )


_active: ContextVar[Scratch | None] = ContextVar("scratch", default=None)


def require_enough(limit: int) -> int:
    """The limit, after checking it. Raises EgparseError: it is below ``LEAST``."""
    if limit < LEAST:
        raise EgparseError(
            f"--memory: expected at least {described(LEAST)}, got {described(limit)}"
        )
    return limit


def active() -> Scratch | None:
    """The files of the present run, None where memory is not limited."""
    return _active.get()


@contextmanager
def limited(limit: int) -> Iterator[Scratch]:
    """Within the block large arrays lie in files, in the folder that TMPDIR names. Raises
    EgparseError: a limit below ``LEAST``, a folder that cannot be used, or memory or disk that did
    not suffice within the block.
    """
    scratch = Scratch(require_enough(limit), Path(tempfile.gettempdir()))
    try:
        os.close(scratch.file())
    except OSError as error:
        raise EgparseError(
            f"--memory: expected a folder for temporary files, got {scratch.folder}: "
            f"{error.strerror}"
        ) from error
    token, before = _active.set(scratch), _set_handler(_handler_of(scratch))
    try:
        yield scratch
    except (MemoryError, SystemError) as error:  # numpy does not always say which
        if scratch.fault is None:
            raise
        raise EgparseError(scratch.fault) from error
    finally:
        _set_handler(before)
        _active.reset(token)


def size_of(text: str) -> int:
    """A number of bytes as people write it: 2G, 1.5G, 500M, 800000K, or a plain number. Raises
    EgparseError: none of these.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise EgparseError(f"--memory: expected a size such as 2G or 500M, got {text!r}")
    return int(float(match[1]) * (1 << _SHIFTS[match[2].upper()]))


def anonymous_memory() -> int | None:
    """The anonymous memory of this process in bytes, None where the system does not say."""
    try:
        with open(_STATUS, encoding="ascii") as lines:
            for line in lines:
                if line.startswith("RssAnon"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    return None


def described(size: int) -> str:
    """A number of bytes for people: 1.5 GB."""
    unit, name = next(
        (one for one in ((1 << 30, "GB"), (1 << 20, "MB")) if size >= one[0]), (1 << 10, "KB")
    )
    return f"{size / unit:.3g} {name}" if size < 1000 * unit else f"{size // unit:,} {name}"


# --- numpy's interface: see numpy/core/include/numpy/ndarraytypes.h

_MALLOC = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t)
_CALLOC = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
_REALLOC = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
_FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)


class _Handler(ctypes.Structure):
    """``PyDataMem_Handler``."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("malloc", _MALLOC),
        ("calloc", _CALLOC),
        ("realloc", _REALLOC),
        ("free", _FREE),
    )


_libc = ctypes.CDLL(None, use_errno=True)


def _function(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    function = getattr(_libc, name)
    function.restype, function.argtypes = result, arguments
    return function  # type: ignore[no-any-return]


_size, _int = ctypes.c_size_t, ctypes.c_int
_malloc = _function("malloc", _size, _size)
_calloc = _function("calloc", _size, _size, _size)
_realloc = _function("realloc", _size, _size, _size)
_free = _function("free", None, _size)
_mmap = _function("mmap", _size, ctypes.c_void_p, _size, _int, _int, _int, ctypes.c_longlong)
_munmap = _function("munmap", _int, _size, _size)
_FAILED = ctypes.c_size_t(-1).value

_handlers: list[Any] = []
"""What arrays need to be freed lives as long as the process: arrays may outlive the block."""


def _handler_of(scratch: Scratch) -> Any:
    """A capsule with a handler that keeps large arrays in the files of ``scratch``."""
    sizes: dict[int, int] = {}
    least = scratch.least

    # What these need is bound to their names: arrays are freed when the interpreter ends, too.
    def malloc(_: int, size: int) -> int:
        return _malloc(size) if size < least else _whole(make, size)

    def calloc(_: int, number: int, size: int) -> int:
        if number * size < least:
            return _calloc(number, size)  # type: ignore[no-any-return]
        return _whole(make, number * size)  # a new file holds zeros

    def realloc(_: int, address: int, size: int) -> int:
        old = sizes.get(address)
        if old is None:
            address = _realloc(address, size)
            if size < least or not address:
                return address
        new = _whole(make, size)
        if new:
            ctypes.memmove(new, address, size if old is None else min(old, size))
            free(_, address, 0)
        return new

    def free(_: int, address: int, __: int, *, _sizes: Any = sizes, _rest: Any = _free) -> None:
        if address in _sizes:
            _whole(drop, address)
        else:
            _rest(address)

    def make(size: int) -> int:
        address = scratch._map(size)
        if address:
            sizes[address] = size
        return address

    def drop(address: int, *, _sizes: Any = sizes, _unmap: Any = _munmap) -> int:
        size = _sizes.pop(address, None)
        if size is not None:
            _unmap(address, size)
            scratch.count(-size)
        return 0

    functions = _MALLOC(malloc), _CALLOC(calloc), _REALLOC(realloc), _FREE(free)
    handler = _Handler(b"egparse_scratch", 1, None, *functions)
    for one in (*functions, handler):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))
    _handlers.append(handler)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, _size)
    return new(ctypes.addressof(handler), _CAPSULE, 0)


def _whole(work: Callable[[int], int], argument: int) -> int:
    """The result of work in a callback, where no exception can be passed on: Ctrl-C comes again
    when the callback is over.
    """
    try:
        return work(argument)
    except KeyboardInterrupt:
        import _thread

        threading.Timer(0.05, _thread.interrupt_main).start()
        return work(argument)


def _set_handler(handler: Any) -> Any:
    """Let numpy make arrays by a handler; returns the one before."""
    from numpy._core import multiarray

    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = ctypes.cast(pointer(multiarray._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    signature = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)
    return signature(table[_SET_HANDLER])(handler)
