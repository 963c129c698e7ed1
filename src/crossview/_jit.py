"""The one place that says how Crossview compiles.

Compiled code is cached on disk, runs without the GIL, and may fuse a multiply
with an add.  It may not reorder sums: that would let the compiler vectorize the
sum over a sparse row with gather instructions, which made the dot product of
100 entries in a million columns three times slower than the plain loop.

``njit`` is for loops, ``inlined`` for the small pieces that they are made of:
a call costs as much as ten entries of a row.

``borrowing`` and ``inlined_borrowing`` are the same for functions that allocate no array and
return none to callers of another kind: they only use arrays that somebody else owns, so nobody
counts references to them.  Counting made a pass whose rows and buffers travel as named tuples up
to ten times slower: a tuple that is passed on in a branch costs 50 ns per array.  A function that
does allocate does not compile with them.
"""

import contextlib
import functools
import hashlib
import os
import pickle
import tempfile
from collections.abc import Callable, Iterator
from operator import methodcaller
from pathlib import Path
from typing import Any, ClassVar

import numba
from numba.core import event
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    NullCache,
    UserWideCacheLocator,
)
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
    "no_cfunc_wrapper": True,  # nobody passes the address of a function to C
}
_BORROWING = {"_nrt": False}
_INLINED = {"forceinline": True}
_REORDERING = {"fastmath": {"contract", "reassoc"}}
# seconds to wait for another process that compiles the same
LONGEST_WAIT = 120.0


@functools.cache
def sources_digest(package: Path = Path(__file__).parent) -> str:
    """Return a hash of all that the compiled functions of a package are made of."""
    digest = hashlib.sha256()
    for pattern in (
        *("_jit.py", "kernels/**/*.py", "algorithms/**/*.py"),
        *("encoding/personal/cross.py", "encoding/rows/fill.py", "encoding/rows/row_fill.py"),
        *("encoding/statistics.py", "encoding/view_scaler.py"),
        "encoding/personal/recent_users.py",
    ):
        for path in sorted(package.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()


class _TemporaryLocator(UserWideCacheLocator):
    """A folder for temporary files, where neither package nor home can be written."""

    def __init__(self, function: Callable, file: str) -> None:
        super().__init__(function, file)  # type: ignore[no-untyped-call]
        owner = f"-{os.getuid()}" if hasattr(os, "getuid") else ""
        own = Path(tempfile.gettempdir()) / f"crossview{owner}"
        self._cache_path = str(own / self.get_suitable_cache_subpath(file))  # type: ignore[no-untyped-call]

    def ensure_cache_path(self) -> None:
        """Make the folder; refuse one that others may write, because the cache runs code."""
        own = Path(self._cache_path).parent
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = own.lstat()
        if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o77):
            raise PermissionError(f"{own} is open to others")
        super().ensure_cache_path()  # type: ignore[no-untyped-call]


class _CacheLocations(CompileResultCacheImpl):
    """Folders for Numba's cache: its own ones, then a temporary one if none can be written."""

    _locator_classes: ClassVar[list] = [  # type: ignore[misc]
        *CompileResultCacheImpl._locator_classes,
        _TemporaryLocator,
    ]


class _CodeFiles(IndexDataCacheFile):
    """The code of a function: a file for each of its types, which says what it is for.

    Numba keeps an index of types and numbered files.  Two processes that compile for two types at
    once give both the same number, and later ones run the code of the other type.
    """

    def _path(self, key: Any) -> str:
        digest = hashlib.sha256(str(key).encode()).hexdigest()
        return f"{self._index_path.removesuffix('.nbi')}.{digest[:16]}.nbc"

    def has(self, key: Any) -> bool:
        """Return whether there is code for these types that is not stale."""
        try:
            with open(self._path(key), "rb") as file:
                return bool(pickle.load(file) == (self._version, self._source_stamp))
        except (OSError, EOFError, pickle.UnpicklingError):
            return False

    def save(self, key: Any, data: Any) -> None:
        """Write the code for these types."""
        parts = (self._version, self._source_stamp), key, data
        with self._open_for_write(self._path(key)) as file:
            file.writelines(map(self._dump, parts))

    def load(self, key: Any) -> Any:
        """Return the code for these types; None if there is none, or it is stale or damaged."""
        try:
            with open(self._path(key), "rb") as file:
                if pickle.load(file) != (self._version, self._source_stamp):
                    return None  # the types of its key may be gone
                return pickle.load(file) if pickle.load(file) == key else None
        except (OSError, EOFError, pickle.UnpicklingError):
            return None


class _Cache(FunctionCache):
    """Numba's cache on disk, of which all is stale when any compiled source has changed.

    Numba looks at the file of the function itself only, not at those of the functions that it
    inlines; so after an upgrade it would go on with their old code.
    """

    _impl_class = _CacheLocations
    _cache_file: _CodeFiles

    def __init__(self, function: Callable) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        stamp = (self._impl.locator.get_source_stamp(), sources_digest())
        self._cache_file = _CodeFiles(  # type: ignore[no-untyped-call]
            self._cache_path, self._impl.filename_base, stamp
        )

    @contextlib.contextmanager
    def turn(self, sig: Any, target: Any) -> Iterator[None]:
        """Wait while another process compiles for these types, which saves what it compiles.

        Workers begin with the same loops; where all compile them at once each takes longer.  Where
        the folder cannot have a lock nobody waits.
        """
        key = self._index_key(sig, target.codegen())  # type: ignore[no-untyped-call]
        if self._cache_file.has(key):
            yield
            return
        name = f"{self._cache_file._path(key)}.lock"
        with contextlib.ExitStack() as held:
            with contextlib.suppress(ImportError, OSError, NotImplementedError):
                from filelock import FileLock

                self._impl.locator.ensure_cache_path()
                with event.trigger_event("numba:compile", data={"waits": name}):
                    held.enter_context(FileLock(name, timeout=LONGEST_WAIT, fallback_to_soft=False))
                held.callback(Path(name).unlink, missing_ok=True)
            yield


class _Inner(JITCodeLibrary):
    """Optimized code of a function that compiled code calls; no machine code is made of it."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._verify_declare_only_symbols()  # type: ignore[no-untyped-call]
        self._finalized = True


class _Pipeline(Compiler):
    """Numba's passes; a function that is compiled for one that compiles becomes an `_Inner`."""

    def __init__(
        self, typing: Any, target: Any, library: Any, args: Any, result: Any, flags: Any, local: Any
    ) -> None:
        if _Compiled.depth > 1:
            library = _Inner(target.codegen(), "inner")  # type: ignore[no-untyped-call]
            flags.no_compile = flags.no_cpython_wrapper = True
        super().__init__(typing, target, library, args, result, flags, local)  # type: ignore[no-untyped-call]


class _Compiled(CPUDispatcher):
    """A function that is compiled for Python only if Python calls it.

    Numba also compiles what is only ever called by compiled code down to machine code, with a
    wrapper that reads Python objects, and caches it.  That took a quarter of the time, and the
    code of a loop is the same without it.
    """

    depth = 0  # functions that compile, each for the one before; a lock lets one thread compile
    _cache: Any

    def compile(self, sig: Any) -> Any:
        """Compile for these types or load from the cache, unless it is done."""
        with global_compiler_lock:
            args = tuple(normalize_signature(sig)[0])  # type: ignore[no-untyped-call]
            cache: Any = self._cache
            found: Any = self.overloads.get(args)
            turn: Any = contextlib.nullcontext()
            if _Compiled.depth > 0:
                self._cache = NullCache()
            elif found is None or isinstance(found.library, _Inner):
                self.overloads.pop(args, None)
                if isinstance(cache, _Cache):
                    turn = cache.turn(sig, self.targetctx)
            _Compiled.depth += 1
            try:
                with turn:
                    return super().compile(sig)
            finally:
                _Compiled.depth -= 1
                self._cache = cache

    def add_overload(self, cres: Any) -> None:
        """Keep what was compiled, for callers in Python unless it is an `_Inner`."""
        if isinstance(cres.library, _Inner):
            # compiled callers look it up by an object that is unique
            cres = cres._replace(entry_point=object())
            target: Any = self.targetctx
            target.insert_user_function(cres.entry_point, cres.fndesc, [cres.library])
            self.overloads[tuple(cres.signature.args)] = cres
            return
        for environment in methodcaller("_find_referenced_environments")(cres):
            cres.library.codegen.set_env(environment.env_name, environment)
        super().add_overload(cres)


def _compiler(**options: Any) -> Callable[[Callable], Any]:
    """Return a decorator that compiles with these options, and caches."""

    def decorate(function: Callable) -> Any:
        if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
            return function
        settings = {"nopython": True} | _OPTIONS | options
        compiled = _Compiled(function, targetoptions=settings, pipeline_class=_Pipeline)
        # without any folder that can be written, each process compiles again
        with contextlib.suppress(RuntimeError, OSError):
            compiled._cache = _Cache(function)
        return compiled

    return decorate


def bind(compiled: Any, *args: Any) -> Callable[[], Any]:
    """Return a call of a compiled function with arguments that stay, such as arrays that change.

    It is ten times as fast as a call that looks at the types of all arguments, which for a single
    row takes longer than the row itself.
    """
    if not hasattr(compiled, "py_func"):  # where NUMBA_DISABLE_JIT is set
        return functools.partial(compiled, *args)
    return functools.partial(compiled.compile(tuple(map(numba.typeof, args))), *args)


class Pass:
    """A pass over rows: a function that prepares the arguments of a compiled loop, and the loop.

    prepare: it returns the arguments of the loop, with the memory that it needs.
    """

    def __init__(self, prepare: Callable[..., tuple], loop: Any) -> None:
        self.prepare, self.loop = prepare, loop
        functools.update_wrapper(self, prepare)

    def __call__(self, *args: Any) -> Any:
        """Make the pass, and return what the loop does."""
        return self.loop(*self.prepare(*args))

    def bind(self, *args: Any) -> Callable[[], Any]:
        """Return the pass as a call without arguments; see `bind`."""
        return bind(self.loop, *self.prepare(*args))


def passes(loop: Any) -> Callable[[Callable[..., tuple]], Pass]:
    """Return a decorator that makes a `Pass` of a function that prepares arguments."""
    return lambda prepare: Pass(prepare, loop)


# said outright: a function called by a borrowing one is compiled like it where it says nothing
njit = _compiler(_nrt=True)
inlined = _compiler(**_INLINED)
borrowing = _compiler(**_BORROWING)
inlined_borrowing = _compiler(**_INLINED, **_BORROWING)

# sums over memory that lies in order may be split among the lanes of a register;
# there is nothing to gather
njit_reordering = _compiler(**_REORDERING)
borrowing_reordering = _compiler(**_REORDERING, **_BORROWING)
