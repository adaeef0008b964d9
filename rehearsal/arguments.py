"""What `python -m rehearsal` can be asked."""

from __future__ import annotations

import argparse
from pathlib import Path

PACK = Path("policies")
"""Below the project's folder."""


def parser() -> argparse.ArgumentParser:
    """The parser of all commands; `command` holds the name of the one that was asked for."""
    top = argparse.ArgumentParser(prog="python -m rehearsal", description="Rehearse a stack with no cloud account.")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    preview = commands.add_parser(
        "preview",
        help="what `pulumi up` would create or change",
        description="Preview a stack on the real Pulumi engine with an offline cloud.",
    )
    up = commands.add_parser(
        "up",
        help="bring the stack up in the offline cloud",
        description="Bring a stack up on the real Pulumi engine with an offline cloud.",
    )
    destroy = commands.add_parser(
        "destroy",
        help="destroy what `up --state` made",
        description="Destroy a rehearsed stack. Protected resources and retained ones are treated as on AWS.",
    )
    admit = commands.add_parser(
        "admit",
        help="show the stack's objects to a real Kubernetes API server",
        description="Bring a stack up offline, then apply its Kubernetes objects to kube-apiserver with a dry run.",
    )
    recover = commands.add_parser(
        "recover",
        help="after a rehearsal with --state was killed",
        description="Make a rehearsed stack usable again after a kill, as docs/recovery.md says for a real one.",
    )
    identities = commands.add_parser(
        "iam-report",
        help="who may do what in the stack, role by role",
        description="Bring a stack up offline, and write down its identities as Markdown.",
    )
    identities.add_argument(
        "--output",
        default="-",
        metavar="DIR",
        help="write STACK.md into this folder, which is made when missing (default '-': to standard output)",
    )
    for command in (preview, admit, up, destroy, recover, identities):
        command.add_argument("--stack", required=True, help="the stack: NAME of Pulumi.NAME.yaml")
        command.add_argument(
            "--project", type=Path, default=Path(), metavar="DIR", help="folder of Pulumi.yaml (default: here)"
        )
    for command in (preview, up, destroy, recover):
        command.add_argument(
            "--state",
            type=_folder,
            metavar="DIR",
            required=command in {destroy, recover},
            help="folder in which stack and offline cloud live on between rehearsals, secrets in it readable",
        )
    for command in (preview, admit, up, destroy):
        command.add_argument(
            "--json", metavar="FILE", help="write the result as JSON ('-': to standard output, only that)"
        )
    for command in (preview, admit, up, destroy, recover, identities):
        command.add_argument(
            "--secret",
            action="append",
            default=[],
            type=_secret,
            metavar="PATH=VALUE",
            help="set a secret configuration value, for example vllm-eks:hfToken=x (repeatable)",
        )
    for command in (preview, up):
        command.add_argument(
            "--policies",
            type=Path,
            nargs="?",
            const=PACK,
            metavar="DIR",
            help="run a policy pack too (default of DIR: the project's policies/)",
        )
    admit.add_argument("--crds", type=_existing, metavar="DIR", help="folder with further custom resource definitions")
    for command in (up, destroy):
        command.add_argument(
            "--fail-at",
            metavar="NAME",
            help="let the cloud refuse the first change of a resource of this name, or of this URN",
        )
    return top


def _existing(text: str) -> Path:
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is no folder")
    return Path(text)


def _folder(text: str) -> Path:
    if not text or Path(text).is_file():
        raise argparse.ArgumentTypeError(f"{text!r} is no folder")
    return Path(text)


def _secret(text: str) -> tuple[str, str]:
    path, equals, value = text.partition("=")
    if not equals or not path:
        raise argparse.ArgumentTypeError("expected PATH=VALUE")
    return path, value
