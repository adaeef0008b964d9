"""Parent of the engine: `wrapper.py ROOT COMMAND...`. A bad archive costs one start, a cache gone bad two: no loop.

vLLM dies on a compile cache whose recorded paths are not there (gpu.md 0.1), and may die on any other bad file of it.
So before each start: when recorded paths cannot be found, `torch_compile_cache` is moved aside; and when the last start
from this folder died before it was ready, everything is, if the folder was restored and nobody has been ready in it
yet: then the archive is to be doubted as a whole. What an engine has already run on, or written by itself, goes in two
steps: first `torch_compile_cache` and, after a second death in a row, the rest. Also everything, when the compile cache
alone cannot be moved because its folder is another user's. The restore's marker then says that content was given up.
One line:

    cache dropped: <reason>; aside: <names>       it was moved
    cache ignored: <reason>                       the engine runs without its compile cache: it cannot be moved, no mark
                                                  can be written, or another container is starting from it right now

Then it runs the engine, hands on every signal, reaps what is left behind, and ends as the engine ends.
"""

import contextlib
import itertools
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import marks
import restored

COMPILE_CACHE = "torch_compile_cache"
ASIDE = ".dropped-"
HANDED_ON = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGCONT")
ORDERS = (signal.SIGTERM, signal.SIGINT)

_RECORDED = re.compile(r"""(['"])(/[^'"\n]+)\1""")
_MOST_BYTES = 4 * 1024 * 1024
NOT_FOUND, NOT_EXECUTABLE = 127, 126

DIED = "a start died before it was ready"


def main(arguments: list[str]) -> int:
    """Return the engine's exit code."""
    if len(arguments) < 2 or not arguments[0].startswith("/"):
        sys.stderr.write("usage: wrapper.py ROOT COMMAND... (ROOT: absolute path of the cache)\n")
        return 2
    root = Path(arguments[0])
    environment = dict(os.environ)
    engine = Engine(root, arguments[1:], environment)
    # first of all: to process 1, a signal without a handler is as if it had not been sent
    engine.listen()
    if not prepared(root):
        # neither read nor written then, in every layer of it (envs.py and decorators.py of vLLM 0.26)
        environment["VLLM_DISABLE_COMPILE_CACHE"] = "1"
    return engine.run()


def prepared(root: Path) -> bool:
    """Give up what may be bad, and mark the start. False: the engine must not use the compile cache at all."""
    with contextlib.suppress(OSError):
        root.mkdir(parents=True, exist_ok=True)
    with marks.alone(root):
        found = marks.find(root)
        compile_cache = Path(os.environ.get("VLLM_CACHE_ROOT") or root) / COMPILE_CACHE
        given_up = found.given_up or 0
        died = found.given_up is not None
        reason = DIED if died else unfit(compile_cache)
        usable = True
        if reason and found.alive:
            usable = False
            say(f"cache ignored: {reason}, and another container is starting from it")
        elif reason:
            everything = bool(given_up) or (died and untried(root))
            usable = dropped(root, content(root) if everything else [compile_cache], reason)
            if died and usable:
                given_up = 1
        try:
            marks.write(root, given_up)
        except OSError as error:
            say(f"cache ignored: no mark can be written: {error.strerror}")
            return False
        if usable:
            marks.remove(*(path for path in found.dead if path != marks.own(root)))
        return usable


def untried(root: Path) -> bool:
    """Tell whether the folder was restored, and no engine has been ready in it since."""
    return restored.read(root) is not None and not marks.was_ready(root)


def content(root: Path) -> list[Path]:
    """Return everything at the top of the root but hidden files: marks, what lies aside, the restore's marker."""
    try:
        return [path for path in sorted(root.iterdir()) if not path.name.startswith(".")]
    except OSError:
        return []


def unfit(compile_cache: Path) -> str | None:
    """Return why vLLM would die on this compile cache, as far as its recorded paths tell."""
    for path in recorded(compile_cache):
        if not path.startswith(f"{compile_cache}/"):
            return f"recorded for another root: {path}"
        if not Path(path).exists():
            return f"a recorded file is missing: {path}"
    return None


def recorded(compile_cache: Path) -> Iterator[str]:
    """Yield the absolute paths that vLLM wrote into its compile cache and will open (compiler_interface.py `load`)."""
    for index in sorted(compile_cache.glob("*/rank_*/**/vllm_compile_cache.py")):
        try:
            with index.open("rb") as file:
                text = file.read(_MOST_BYTES).decode(errors="replace")
        except OSError:
            continue
        yield from (match[2] for match in _RECORDED.finditer(text))


def dropped(root: Path, paths: list[Path], reason: str) -> bool:
    """Move the paths aside, else everything, and say so. False when something bad stays where it is."""
    if not any(os.path.lexists(path) for path in paths):
        return True
    # before the first move: killed in between, the reason is still there, and the next start goes on
    restored.give_up(root)
    names, left = moved(root, paths)
    if left and (others := [path for path in content(root) if path not in paths]):
        # to rename what lies at the top takes rights on the root alone, and that is the engine's
        more, left = moved(root, others)
        names += more
    if names:
        say(f"cache dropped: {reason}; aside: {' '.join(names)}")
    if left:
        say(f"cache ignored: {reason}, and {left}")
    return not left


def moved(root: Path, paths: list[Path]) -> tuple[list[str], str]:
    """Move aside what is there of the paths; returns the new names, and what could not be moved and why."""
    names, left = [], ""
    for path in paths:
        if not os.path.lexists(path):
            continue
        try:
            names.append(path.rename(free(root / f"{ASIDE}{path.name}")).name)
        except OSError as error:
            left = f"{path.name} cannot be moved: {error.strerror}"
    return names, left


def free(aside: Path) -> Path:
    """Return a name that nothing has. One generation is kept for the curious; the disk is the node's."""
    path = aside
    for number in itertools.count(1):
        shutil.rmtree(path, ignore_errors=True)
        with contextlib.suppress(OSError):
            path.unlink()
        if not os.path.lexists(path):
            break
        # another user's, which can be moved and not removed
        path = aside.with_name(f"{aside.name}.{number}")
    return path


def say(line: str) -> None:
    """Log one line."""
    sys.stderr.write(f"{' '.join(line.split())}\n")
    sys.stderr.flush()


class Engine:
    """The engine process and its signals."""

    def __init__(self, root: Path, command: list[str], environment: dict[str, str]) -> None:
        self._root = root
        self._command = command
        self._environment = environment
        self._pid: int | None = None
        self._early: list[int] = []
        self._started = time.monotonic()

    def listen(self) -> None:
        """Take every signal from now on."""
        for name in HANDED_ON:
            signal.signal(getattr(signal, name), self._hand_on)

    def run(self) -> int:
        """Start the engine, wait for its end, and return its exit code; 128 + n when signal n ended it."""
        if ordered := [number for number in self._early if number in ORDERS]:
            marks.remove(marks.own(self._root))
            return 128 + ordered[0]
        try:
            # Python ignores SIGPIPE, and a child would inherit that
            self._pid = os.posix_spawnp(
                self._command[0], self._command, self._environment, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ]
            )
        except OSError as error:
            marks.remove(marks.own(self._root))  # the cache had no part in it
            say(f"{self._command[0]}: {error.strerror}")
            return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
        for number in self._early:
            self._send(number)
        while True:  # as process 1 it is the parent of every orphan
            pid, status = os.waitpid(-1, 0)
            if pid == self._pid:
                break
        self._pid = None
        code = os.waitstatus_to_exitcode(status)
        if code == 0:
            marks.remove(marks.own(self._root))
        return code if code >= 0 else 128 - code

    def _hand_on(self, number: int, _frame: FrameType | None) -> None:
        if number in ORDERS and not self._overdue():
            # at once: SIGKILL may follow before the engine has ended
            marks.remove(marks.own(self._root))
        if self._pid is None:
            self._early.append(number)
        else:
            self._send(number)

    def _send(self, number: int) -> None:
        if self._pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, number)

    def _overdue(self) -> bool:
        """Beyond its start limit SIGTERM is the startup probe's verdict: a start that hangs has died as well."""
        limit = self._environment.get("VLLM_ENGINE_READY_TIMEOUT_S", "")
        return limit.isdecimal() and time.monotonic() - self._started >= int(limit)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
