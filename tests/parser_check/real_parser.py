"""Bring command lines before the real vLLM, as far as it goes without a GPU: parser, configuration, weight loader.

Runs in one of the environments of `environment.py`, once for all lines, and stands alone there. Standard input: a JSON
list of command lines (what follows `vllm serve`). Standard output: `{"refusals": [null or why, ...], "table": the
argument table that `serving/arguments/dump.py` makes of this parser}`.
"""

import argparse
import ast
import contextlib
import copy
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

# both stand alone beside the tables that they make; environment.py puts their folders on the path
import dump
import oracle

MODEL = {
    **oracle._CONFIG,
    # wide and long enough for what a stack file may ask of a model
    "hidden_size": 4096,
    "num_attention_heads": 64,
    "num_key_value_heads": 64,
    "max_position_embeddings": 10_000_000,
}
"""The architecture that every line is tried with: a bucket has none to read here."""


class RefusedError(Exception):
    """vLLM does not take this command line."""


def main() -> None:
    lines: list[list[str]] = json.load(sys.stdin)
    for name in [name for name in os.environ if name.startswith("VLLM_")]:
        del os.environ[name]
    # vLLM logs to standard output
    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as scratch:
        os.environ.update(HOME=scratch, VLLM_LOGGING_LEVEL="ERROR", HF_HUB_OFFLINE="1")
        folder = Path(scratch, "model")
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(MODEL))
        oracle._cuda()
        oracle._model_class()
        parser, serve = _parsers()
        table = dump.document(serve)
        loaders = _loaders()
        refusals = [_refusal(line, parser, str(folder), loaders) for line in lines]
    json.dump({"refusals": refusals, "table": table}, sys.stdout)


def _module(name: str) -> Any:
    return importlib.import_module(name)


def _parsers() -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    """Return the parser of `vllm` and that of its `serve`, as vllm/entrypoints/cli/main.py makes them.

    Without abbreviations: they break when another flag of that beginning comes.
    """
    flexible = _module("vllm.utils.argparse_utils").FlexibleArgumentParser
    parser = flexible(prog="vllm", allow_abbrev=False)
    commands = parser.add_subparsers(required=False, dest="subparser")
    serve = dump.command_line().make_arg_parser(commands.add_parser("serve", allow_abbrev=False))
    for one in (parser, serve):
        one.error = _refuse
    return parser, serve


def _refuse(message: str) -> NoReturn:
    raise RefusedError(message)


def _refusal(line: list[str], parser: Any, model: str, loaders: Mapping[str, Callable[[Any], object]]) -> str | None:
    try:
        # the engine writes into objects that are the parser's defaults: the next line would start with them
        given = copy.deepcopy(parser.parse_args(["serve", *line]))
        if given.model_tag != line[0]:
            _refuse(f"the model is {given.model_tag!r}, and the first argument {line[0]!r}")
        dump.command_line().validate_parsed_serve_args(given)
        _validate_api_server_args(given)
        if (
            given.reasoning_parser
            and given.reasoning_parser not in _managers()["ReasoningParserManager"].list_registered()
        ):
            _refuse(f"unknown --reasoning-parser {given.reasoning_parser}")
        given.reasoning_parser = ""  # most want a tokenizer, which the model below does not have
        given.model = given.model_tag = model
        config = _module("vllm.engine.arg_utils").AsyncEngineArgs.from_cli_args(given).create_engine_config()
        if (loader := loaders.get(config.load_config.load_format)) is None:
            _refuse(f"unknown --load-format {config.load_config.load_format}")
        with contextlib.suppress(ImportError):  # what it would load with needs the extensions
            loader(config.load_config)
    except SystemExit:
        return "vllm would print something and end"
    except Exception as error:  # vLLM refuses with whatever its code happens to raise
        return str(error) or repr(error)
    return None


def _validate_api_server_args(given: argparse.Namespace) -> None:
    """Run the check of the names of parsers: in 0.26 its module starts the whole server."""
    name = "validate_api_server_args"
    if check := getattr(dump.command_line(), name, None):
        check(given)
        return
    source = Path(_module("vllm").__file__).parent / "entrypoints" / "openai" / "api_server.py"
    cut = next(it for it in ast.parse(source.read_text()).body if isinstance(it, ast.FunctionDef) and it.name == name)
    _made(cut, _managers())(given)


def _managers() -> dict[str, Any]:
    return {
        "ToolParserManager": _module("vllm.tool_parsers").ToolParserManager,
        "ReasoningParserManager": _module("vllm.reasoning").ReasoningParserManager,
    }


def _loaders() -> Mapping[str, Callable[[Any], object]]:
    """Return the constructors of all weight loaders by format: they alone check --model-loader-extra-config.

    Their modules need the compiled extensions, so each class is cut out of its source down to its constructor.
    """
    folder = Path(_module("vllm").__file__).parent / "model_executor" / "model_loader"
    table = next(
        node.value
        for node in ast.parse((folder / "__init__.py").read_text()).body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "_LOAD_FORMAT_TO_MODEL_LOADER"
    )
    classes = {
        node.name: node
        for path in folder.rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
    }
    return {key.value: _constructor(classes[value.id]) for key, value in zip(table.keys, table.values, strict=True)}


class _Base:
    def __init__(self, load_config: Any) -> None:
        self.load_config = load_config


def _constructor(cut: ast.ClassDef) -> Callable[[Any], object]:
    cut.bases = [ast.Name("_Base", ast.Load())]
    cut.decorator_list = []
    cut.body = [
        node
        for node in cut.body
        if isinstance(node, ast.AnnAssign | ast.Assign)
        or (isinstance(node, ast.FunctionDef) and node.name == "__init__")
    ] or [ast.Pass()]
    return _made(cut, {"_Base": _Base, "os": os, "copy": copy.copy})


def _made(cut: ast.ClassDef | ast.FunctionDef, names: dict[str, Any]) -> Callable[..., object]:
    """Return what a piece of vLLM's source defines, with these names around it."""
    future = ast.parse("from __future__ import annotations").body
    module = ast.fix_missing_locations(ast.Module([*future, cut], []))
    exec(compile(module, cut.name, "exec"), names)  # noqa: S102 - vLLM's own source
    return names[cut.name]


if __name__ == "__main__":
    main()
