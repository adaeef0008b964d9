"""Print the argument table of `vllm serve`, read from the parser of the vLLM installed here.

Run with the Python of an environment that has that vLLM: `python dump.py > 0.26.0.json`. The parser
runs on a machine with no GPU, so this module stands alone and is never imported by the program.
"""

import argparse
import contextlib
import importlib.util
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

# What a value must look like, by the function that parses it. A name that is not here stops the
# dump: a new kind of value in a new vLLM needs a look at what that function takes.
_KINDS = {
    "int": "int",
    "float": "float",
    "str": "text",
    "human_readable_int": "size",
    "human_readable_int_or_auto": "size-or-auto",
    "loads": "json",
    "parse_dataclass": "object",
    "union_dict_and_str": "json-or-text",
    "parse_reasoning_parser": "text",
}
# vLLM's wrappers keep the function they wrap in a variable of this name.
_WRAPPED = "return_type"
# The module of the command line: in 0.26, and in 0.33.
_COMMAND_LINES = ("vllm.entrypoints.openai.cli_args", "vllm.entrypoints.common.cli_args")


def main() -> None:
    """Write the table to standard output, one flag a line."""
    # Some defaults follow the environment, and vLLM logs to standard output.
    for name in [name for name in os.environ if name.startswith("VLLM_")]:
        del os.environ[name]
    os.environ["VLLM_LOGGING_LEVEL"] = "ERROR"
    with contextlib.redirect_stdout(sys.stderr):
        parser = _parser()
        flags = dict(_flag(parser, action) for action in _options(parser))
        engine = str(_vllm("vllm.version").__version__).partition("+")[0]
    lines = [f"  {json.dumps(name)}: {json.dumps(flags[name], sort_keys=True)}" for name in sorted(flags)]
    print(f'{{\n "engine": {json.dumps(engine)},\n "flags": {{')
    print(",\n".join(lines))
    print(f' }},\n "source": "vllm {engine} parser"\n}}')


def _vllm(module: str) -> Any:
    return importlib.import_module(module)


def _parser() -> argparse.ArgumentParser:
    """Return the real parser, with a pretended CUDA platform: its defaults ask for one."""
    platforms, interface = _vllm("vllm.platforms"), _vllm("vllm.platforms.interface")
    cuda = {
        "_enum": interface.PlatformEnum.CUDA,
        "device_name": "cuda",
        "device_type": "cuda",
        "dispatch_key": "CUDA",
        "uses_host_device_handling": classmethod(lambda _: False),
    }
    platforms._current_platform = type("Cuda", (interface.Platform,), cuda)()
    empty = _vllm("vllm.utils.argparse_utils").FlexibleArgumentParser(prog="vllm serve")
    parser: argparse.ArgumentParser = _command_line().make_arg_parser(empty)
    return parser


def _command_line() -> Any:
    for module in _COMMAND_LINES:
        if importlib.util.find_spec(module):
            return _vllm(module)
    raise SystemExit(f"no {' nor '.join(_COMMAND_LINES)} in this vLLM")


def _options(parser: argparse.ArgumentParser) -> Iterable[argparse.Action]:
    return (a for a in parser._actions if a.option_strings and a.dest != "help")


def _flag(parser: argparse.ArgumentParser, action: argparse.Action) -> tuple[str, dict[str, Any]]:
    """Return the canonical name of an option and its row."""
    # 0.33 also takes `--no-enable-x` for `--disable-x`, hidden: it is left out here too.
    spellings = list(action.option_strings)
    name = next(s for s in spellings if s.startswith("--"))
    row: dict[str, Any] = {}
    if action.nargs == 0:
        negative = [s for s in spellings if _stored(parser, action, s) is False]
        row["kind"] = "switch"
        row["default"] = action.default if isinstance(action.default, bool) else None
        if len(negative) > 1:
            raise SystemExit(f"{name}: the table cannot say two negatives, {negative}")
        if negative:
            row["negative"] = _bare(negative[0])
        spellings = [s for s in spellings if s not in negative]
    else:
        parse = _unwrapped(action.type)
        row["kind"] = _kind(name, parse)
        if action.choices is not None:
            row["choices"] = sorted(_accepted(action), key=lambda c: (int(c) if c.isdigit() else 0, c))
        if action.nargs in ("+", "*"):
            row["many"] = True
        elif action.nargs == "?":
            row["optional"] = True
        elif action.nargs is not None:
            raise SystemExit(f"{name}: the table cannot say nargs={action.nargs!r}")
    if others := [_bare(s) for s in spellings if s != name]:
        row["aliases"] = others
    return _bare(name), row


def _bare(spelling: str) -> str:
    return spelling.lstrip("-")


def _stored(parser: argparse.ArgumentParser, action: argparse.Action, spelling: str) -> object:
    namespace = argparse.Namespace()
    action(parser, namespace, [], spelling)
    return getattr(namespace, action.dest)


def _unwrapped(parse: Any) -> Callable[[str], object]:
    """Return the function under vLLM's `optional_type` and `parse_type`."""
    while inspect.isfunction(parse) and _WRAPPED in parse.__code__.co_freevars:
        parse = inspect.getclosurevars(parse).nonlocals[_WRAPPED]
    return parse or str


def _kind(name: str, parse: Callable[[str], object]) -> str:
    # The lambdas only rewrite a text: lower case, or a list split at commas.
    if parse.__name__ == "<lambda>" and parse("Any-Text") in ("any_text", ["Any-Text"]):
        return "text"
    if parse.__name__ not in _KINDS:
        raise SystemExit(f"{name}: what does {parse.__name__} take? Add it to the kinds")
    return _KINDS[parse.__name__]


def _accepted(action: argparse.Action) -> set[str]:
    """Return the choices that come through: 0.26 lists "None" but turns it into None first."""
    choices = list(action.choices or ())
    parse = action.type if callable(action.type) else str
    return {str(choice) for choice in choices if parse(str(choice)) in choices}


if __name__ == "__main__":
    main()
