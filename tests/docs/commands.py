"""What can be told of a command without running it: does the program know such a command, and each of its options?"""

import importlib.util
import io
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr
from functools import cache

import botocore.session
import typer

from ops.cli import app
from rehearsal.arguments import parser as rehearsal_parser
from rehearsal.toolchain import pulumi_cli
from tests.harness import ROOT

Argv = tuple[str, ...]

_ENDS = re.compile(r"[|&;()<>]+")
_VARIABLE = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)


class UnknownCommandError(Exception):
    """A command that its program does not take, in one line."""


def commands(text: str) -> Iterator[Argv]:
    """Yield the commands of a block: comments, redirections and variables before a command are not part of one.

    `[--json]` says that an option may be left out, `<commit>` stands for a value.
    """
    for line in text.replace("\\\n", " ").splitlines():
        # a redirection has no sign before its blank; what stands in angle brackets has
        plain = re.sub(r"<([^<>|&;()\s]+)>", r"\1", line)
        lexer = shlex.shlex(plain, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        skip = False
        for word in lexer:
            if _ENDS.fullmatch(word):
                if ">" not in word and "<" not in word:
                    yield from _complete(words)
                    words = []
                skip = ">" in word or "<" in word
            elif skip:
                skip = False
            else:
                words.append(word)
        yield from _complete(words)


def _complete(words: list[str]) -> Iterator[Argv]:
    while words and _VARIABLE.fullmatch(words[0]):
        words = words[1:]
    if words:
        yield tuple(word.removeprefix("[").removesuffix("]") for word in words)


def check(argv: Argv) -> None:
    """Look whether the command's program takes it.

    Raises:
        UnknownCommandError: it does not, or nobody knows the program.
    """
    program, *arguments = argv
    if program in {".venv/bin/python", "python", "python3"}:
        _module(argv)
    elif program in PROGRAMS:
        PROGRAMS[program](arguments)
    else:
        raise UnknownCommandError(f"{program}: no program that the pages may name ({', '.join(PROGRAMS)})")


def _module(argv: Argv) -> None:
    match argv[1:]:
        case ("-m", "ops", *arguments):
            _ops(arguments)
        case ("-m", "rehearsal", *arguments):
            _rehearsal(arguments)
        case ("-m", str(name), *_) if importlib.util.find_spec(name):
            pass
        case (str(name), *_) if (ROOT / name).is_file():
            pass
        case _:
            raise UnknownCommandError(f"{shlex.join(argv)}: no such module or file")


def _ops(arguments: list[str]) -> None:
    command, context = typer.main.get_command(app), None
    name = "ops"
    while True:
        context = type(command).context_class(command, info_name=name, parent=context)
        try:
            values, rest, _ = command.make_parser(context).parse_args(list(arguments))
        except Exception as error:  # the parser's own classes are not public
            raise UnknownCommandError(f"{context.command_path}: {error}") from None
        if "help" in values:
            return
        if not hasattr(command, "get_command"):
            break
        name, *arguments = rest or [""]
        if (below := command.get_command(context, name)) is None:
            raise UnknownCommandError(f"{context.command_path}: no command {name!r}")
        command = below
    missing = [it.name for it in command.get_params(context) if it.required and values.get(it.name) in {None, ()}]
    if rest or missing:
        raise UnknownCommandError(f"{context.command_path}: too much {rest}, missing {missing}")


def _rehearsal(arguments: list[str]) -> None:
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            rehearsal_parser().parse_args(arguments)
    except SystemExit as error:
        if error.code:
            raise UnknownCommandError(said.getvalue().strip().splitlines()[-1]) from None


def _make(arguments: list[str]) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for word in arguments:
        if "=" not in word and word not in targets:
            raise UnknownCommandError(f"make {word}: no such target")


def _pulumi(arguments: list[str]) -> None:
    words: list[str] = []
    for word in arguments:
        if word.startswith("-") or not _pulumi_has(tuple(words), word):
            break
        words.append(word)
    said = _pulumi_help(tuple(words))
    if not words or "[command]" in said:
        raise UnknownCommandError(f"pulumi {' '.join(arguments)}: no such command")
    for word in arguments:
        option = word.partition("=")[0]
        if option.startswith("-") and not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", said):
            raise UnknownCommandError(f"pulumi {' '.join(words)}: no option {option}")


def _pulumi_has(words: Argv, word: str) -> bool:
    """Aliases (`stack init`) stand in no list: but the help of what does not exist is that of what is above it."""
    return _pulumi_help((*words, word)) != _pulumi_help(words)


@cache
def _pulumi_help(words: Argv) -> str:
    command = [str(pulumi_cli.find().path), *words, "--help"]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def _aws(arguments: list[str]) -> None:
    service, operation, *options = arguments
    if service == "s3" and operation in {"cp", "ls", "rm", "sync"}:
        return  # the CLI's own, in no model
    model = botocore.session.get_session().get_service_model("s3" if service == "s3api" else service)
    names = {botocore.xform_name(name, "-"): name for name in model.operation_names}
    if operation not in names:
        raise UnknownCommandError(f"aws {service} {operation}: no such operation")
    shape = model.operation_model(names[operation]).input_shape
    known = {f"--{botocore.xform_name(name, '-')}" for name in (shape.members if shape else {})}
    for option in options:
        if option.startswith("--") and option not in known | {"--output", "--query", "--region"}:
            raise UnknownCommandError(f"aws {service} {operation}: no option {option}")


def _kubectl(arguments: list[str]) -> None:
    """Its verbs alone: there is no kubectl here."""
    verb = next((word for word in arguments if word in KUBECTL), None)
    if verb is None:
        raise UnknownCommandError(f"kubectl {' '.join(arguments)}: no known verb")


KUBECTL = ("get", "describe", "logs", "delete", "annotate", "scale", "rollout", "apply", "exec", "top", "create")


def _anything(arguments: list[str]) -> None:
    """Programs of the system: what they take is not ours to know."""


PROGRAMS: Mapping[str, Callable[[list[str]], None]] = {
    "ops": _ops,
    "make": _make,
    "pulumi": _pulumi,
    "aws": _aws,
    "kubectl": _kubectl,
    **dict.fromkeys(
        ("git", "cp", "cat", "cd", "gh", "jq", "rm", "sed", "openssl", "ssh", "xargs", "export", "curl"), _anything
    ),
}
