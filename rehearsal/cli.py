"""`python -m rehearsal`: arguments, exit codes, signals. 0 ok, 1 failed, 2 usage."""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

_FAILED, _USAGE = 1, 2


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Stopped(BaseException):
    """Ctrl-C, SIGTERM, a closed terminal: unwinds, so that everything is taken down."""

    def __init__(self, number: int) -> None:
        self.number = number
        words: dict[int, str] = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
        super().__init__(words.get(number, "hung up"))


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit. Nothing stays behind, also after SIGINT and SIGTERM."""
    asked = _parser().parse_args(arguments)
    for number in _SIGNALS:
        # Also SIGINT: a shell's background job inherits it ignored.
        signal.signal(number, _interrupt)
    for stream in (sys.stdout, sys.stderr):
        # A terminal without UTF-8 gets question marks, not a traceback after the whole run.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    # The SDKs are a million objects that live until the end: looking for garbage takes 0.7 s.
    gc.disable()
    try:
        code = _preview(asked)
    except _Stopped as stopped:
        sys.stderr.write(f"\n{stopped}: nothing was left behind\n")
        code = 128 + stopped.number
    except BrokenPipeError:
        # `... | head` has read enough.
        code = 128 + signal.SIGPIPE
    except OSError as failure:
        code = _fail(f"cannot write: {failure}", _FAILED)
    _leave(code)


def _interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    # A second Ctrl-C must not cut the cleaning up short.
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise _Stopped(number)


def _leave(code: int) -> NoReturn:
    # A normal exit joins the program's threads, which may still wait for an engine that was
    # stopped, and frees every module, 0.9 s. All that was started has been taken down before.
    for stream in (sys.stdout, sys.stderr):
        # None when the user closed it; an error while flushing has nobody left to read about it
        with contextlib.suppress(OSError, AttributeError):
            stream.flush()
    os._exit(code)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m rehearsal", description="Rehearse a stack with no cloud account.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    preview = commands.add_parser(
        "preview",
        help="what `pulumi up` would create",
        description="Preview a stack on the real Pulumi engine with an offline cloud.",
    )
    preview.add_argument("--stack", required=True, help="the stack: NAME of Pulumi.NAME.yaml")
    preview.add_argument(
        "--secret",
        action="append",
        default=[],
        type=_secret,
        metavar="PATH=VALUE",
        help="set a secret configuration value, for example vllm-eks:hfToken=x (repeatable)",
    )
    preview.add_argument("--json", metavar="FILE", help="write the plan as JSON ('-': to standard output, only that)")
    preview.add_argument("--keep", type=Path, metavar="DIR", help="keep state, logs and stack file in a new folder")
    preview.add_argument(
        "--project",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="folder of Pulumi.yaml (default: here)",
    )
    return parser


def _secret(text: str) -> tuple[str, str]:
    path, equals, value = text.partition("=")
    if not equals or not path:
        raise argparse.ArgumentTypeError("expected PATH=VALUE")
    return path, value


def _preview(asked: argparse.Namespace) -> int:
    # Imported late: `--help` and a mistyped option need no SDK, which takes half a second.
    from rehearsal import preview as previews  # noqa: PLC0415
    from rehearsal.report import report  # noqa: PLC0415
    from rehearsal.toolchain.pulumi_cli import ToolMissingError  # noqa: PLC0415

    if asked.json not in (None, "-") and not Path(asked.json).resolve().parent.is_dir():
        return _fail(f"--json {asked.json}: no such folder", _USAGE)
    try:
        plan = previews.preview(asked.stack, project=asked.project, secrets=asked.secret, keep=asked.keep)
    except previews.UsageError as mistake:
        return _fail(str(mistake), _USAGE)
    except (previews.PreviewFailedError, ToolMissingError) as failure:
        return _fail(str(failure), _FAILED)
    if asked.json == "-":
        json.dump(plan.as_json(), sys.stdout, indent=2)
        sys.stdout.write("\n")
        return 0
    report(plan, sys.stdout)
    if asked.json:
        Path(asked.json).write_text(json.dumps(plan.as_json(), indent=2) + "\n", encoding="utf-8")
    if asked.keep:
        sys.stdout.write(f"kept: {asked.keep}\n")
    return 0


def _fail(text: str, code: int) -> int:
    sys.stderr.write(f"{text}\n")
    return code
