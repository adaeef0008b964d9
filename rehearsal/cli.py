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
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from rehearsal.arguments import PACK, parser

if TYPE_CHECKING:
    from rehearsal.plan.plan import Plan
    from rehearsal.plan.report import Deed
    from rehearsal.providers.journal import Journal

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
    asked = parser().parse_args(arguments)
    # The user may have closed it.
    sys.stdout = sys.stdout or io.StringIO()
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
        code = _run(asked)
    except _Stopped as stopped:
        state = getattr(asked, "state", None)
        kept = f"run it again to go on in {state}" if state else "nothing was left behind"
        sys.stderr.write(f"\n{stopped}: {kept}\n")
        code = 128 + stopped.number
    except BrokenPipeError:
        # `... | head` has read enough.
        code = 128 + signal.SIGPIPE
    except OSError as failure:
        code = _fail(str(failure), _FAILED)
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


def _run(asked: argparse.Namespace) -> int:
    # Imported late: `--help` and a mistyped option need no SDK, which takes half a second.
    from rehearsal.engine.run import PoliciesViolatedError, RunFailedError, UsageError  # noqa: PLC0415
    from rehearsal.toolchain.pulumi_cli import ToolMissingError  # noqa: PLC0415

    try:
        _COMMANDS[asked.command](asked)
    except UsageError as mistake:
        return _fail(str(mistake), _USAGE)
    except PoliciesViolatedError as stopped:
        _write_json({"findings": [it.as_json() for it in stopped.findings]}, asked.json)
        return _fail(str(stopped), _FAILED)
    except (RunFailedError, ToolMissingError) as failure:
        return _fail(str(failure), _FAILED)
    return 0


def _preview(asked: argparse.Namespace) -> None:
    from rehearsal.plan.report import PREVIEWED  # noqa: PLC0415
    from rehearsal.preview import preview  # noqa: PLC0415

    _writable(asked.json)
    plan = preview(asked.stack, project=asked.project, secrets=asked.secret, state=asked.state, policies=_pack(asked))
    _show(plan, asked, PREVIEWED)


def _up(asked: argparse.Namespace) -> None:
    from rehearsal.life import up  # noqa: PLC0415
    from rehearsal.plan.report import BROUGHT_UP  # noqa: PLC0415

    _writable(asked.json)
    with _failing(asked.fail_at) as journal:
        plan = up(
            asked.stack,
            project=asked.project,
            secrets=asked.secret,
            state=asked.state,
            journal=journal,
            policies=_pack(asked),
        )
    _show(plan, asked, BROUGHT_UP)


def _destroy(asked: argparse.Namespace) -> None:
    from rehearsal.life import destroy  # noqa: PLC0415
    from rehearsal.plan.report import DESTROYED  # noqa: PLC0415

    _writable(asked.json)
    with _failing(asked.fail_at) as journal:
        plan = destroy(asked.stack, project=asked.project, secrets=asked.secret, state=asked.state, journal=journal)
    _show(plan, asked, DESTROYED)


@contextlib.contextmanager
def _failing(name: str | None) -> Iterator[Journal]:
    """A journal that refuses the resource `name`; a name that is met nowhere is a mistake, not a success."""
    from rehearsal.engine.run import UsageError  # noqa: PLC0415
    from rehearsal.providers.journal import FailAt, Journal  # noqa: PLC0415

    refuse = FailAt(name) if name else None
    yield Journal(before=refuse)
    if refuse is not None and not refuse.met:
        raise UsageError(f"--fail-at {name}: no resource of that name or URN was created, changed or removed")


def _admit(asked: argparse.Namespace) -> None:
    from rehearsal.admit import admit  # noqa: PLC0415
    from rehearsal.engine.run import RunFailedError  # noqa: PLC0415
    from rehearsal.plan import admitted  # noqa: PLC0415

    _writable(asked.json)
    admission = admit(asked.stack, project=asked.project, secrets=asked.secret, crds=asked.crds)
    _write_json(admission.as_json(), asked.json)
    if admission.report.refusals:
        raise RunFailedError(admitted.refusals(admission))
    if asked.json != "-":
        admitted.report(admission, sys.stdout)


def _recover(asked: argparse.Namespace) -> None:
    from rehearsal.recover import recover  # noqa: PLC0415

    found = recover(asked.stack, project=asked.project, secrets=asked.secret, state=asked.state)
    for it in found:
        outcome = f"imported as {it.id}" if it.id else "was not created: cleared"
        sys.stdout.write(f"{it.urn}: {outcome}\n")
    sys.stdout.write(f"{len(found)} pending creations; the stack can be used again\n")


def _iam_report(asked: argparse.Namespace) -> None:
    from rehearsal.engine.run import RunFailedError, UsageError  # noqa: PLC0415
    from rehearsal.identities.documents import DocumentError  # noqa: PLC0415
    from rehearsal.identities.report import report  # noqa: PLC0415
    from rehearsal.standing import standing  # noqa: PLC0415

    folder = None if asked.output == "-" else Path(asked.output)
    if folder is not None and (folder.exists() and not folder.is_dir()):
        raise UsageError(f"--output {folder}: no folder")
    try:
        text = report(asked.stack, standing(asked.stack, project=asked.project, secrets=asked.secret))
    except DocumentError as unread:
        raise RunFailedError(str(unread)) from unread
    if folder is None:
        sys.stdout.write(text)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{asked.stack}.md").write_text(text, encoding="utf-8")
        sys.stdout.write(f"{folder / asked.stack}.md\n")


def _pack(asked: argparse.Namespace) -> Path | None:
    """The folder of the policy pack that was asked for: the project's own where none was named."""
    from rehearsal.engine.run import UsageError  # noqa: PLC0415

    if asked.policies is None:
        return None
    pack: Path = asked.project / asked.policies if asked.policies == PACK else asked.policies
    if not (pack / "PulumiPolicy.yaml").is_file():
        raise UsageError(f"--policies {pack}: no policy pack, PulumiPolicy.yaml is missing")
    return pack


def _writable(file: str | None) -> None:
    from rehearsal.engine.run import UsageError  # noqa: PLC0415

    if file not in (None, "-") and not Path(file).resolve().parent.is_dir():
        raise UsageError(f"--json {file}: no such folder")


def _show(plan: Plan, asked: argparse.Namespace, deed: Deed) -> None:
    from rehearsal.plan.report import report  # noqa: PLC0415

    _write_json(plan.as_json(), asked.json)
    if asked.json != "-":
        report(plan, sys.stdout, deed)


def _write_json(result: dict[str, Any], file: str | None) -> None:
    text = json.dumps(result, indent=2) + "\n"
    if file == "-":
        sys.stdout.write(text)
    elif file:
        Path(file).write_text(text, encoding="utf-8")


_COMMANDS = {
    "preview": _preview,
    "admit": _admit,
    "up": _up,
    "destroy": _destroy,
    "recover": _recover,
    "iam-report": _iam_report,
}


def _fail(text: str, code: int) -> int:
    sys.stderr.write(f"{text}\n")
    return code
