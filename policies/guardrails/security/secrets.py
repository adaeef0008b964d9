"""Secrets that a pod says aloud."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from guardrails.exceptions import excepted
from guardrails.pods import WORKLOADS, Container
from guardrails.reading import below, each
from guardrails.rule import Around, Resource, Rule
from guardrails.security.pods import containers
from guardrails.value import MalformedError, NotKnownError, Value

CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
_NAMES = re.compile(
    r"(?i)(^|[_.-])(token|(pg)?password|passwd|passphrase|secret|api_?key|access_?key|private_?key|credentials?)($|[_.-])"
)
_TELLS_WHERE = re.compile(r"(?i)[_.-](file|path|dir|name|arn|url|uri|host|ttl|id|version|limit|length|count)$")
_PLAIN = re.compile(r"(?i)true|false|yes|no|on|off|none|[01]|(file:/)?/.*|\$[({].*")
"""Switches, paths and references to what comes from a Secret."""
_NUMBER = re.compile(r"\d+")
_TOKENS = re.compile(
    r"\bhf_[A-Za-z0-9]{20,}|\b(AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_\w{30,}"
    r"|\bsk-[A-Za-z0-9_-]{20,}|\bnvapi-[A-Za-z0-9_-]{20,}|\bdckr_pat_[A-Za-z0-9_-]{20,}|\bxox[abprs]-[A-Za-z0-9-]{20,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY"
)
_IN_ADDRESS = re.compile(r"://[^/\s:@]*:[^/\s:@$]+@")
_FLAG = re.compile(r"(--(?:[a-z]+-)*(?:api-key|hf-token|password|secret-key|secret-access-key|(?:auth|access)-token))")
_GIVEN = re.compile(_FLAG.pattern + r"(?:=|\s+)[\"']?(?!\s|--|\$|true\b|/)\S")


@dataclass(frozen=True)
class Said:
    """One thing that a manifest says."""

    value: Value
    container: Value | None = None
    """Whose it is; None: it stands in a ConfigMap."""
    variable: Value | None = None
    """The environment variable whose value it is; None: it is a word of the command."""
    before: Value | None = None
    """The word before."""


def _said(resource: Resource) -> Iterator[Said]:
    if resource.kind == CONFIG_MAP:
        for key in resource.props["data"].mapping():
            yield Said(below(resource.props, "data", key))
        return
    for container in containers(resource):
        try:
            container.mapping()
        except (NotKnownError, MalformedError):
            yield Said(container, container)
            continue
        for it in each(below(container, "env")):
            yield Said(below(it, "value"), container, variable=it)
        for key in ("command", "args"):
            before = None
            for it in each(below(container, key)):
                yield Said(it, container, before=before)
                before = it


def _tells(said: Said, around: Around) -> Iterator[str]:
    if said.container is None:
        yield from _in_config_map(said.value, around)
        return
    where = f"container {Container(said.container).name}"
    if said.variable is None:
        yield from (
            f"{where}: {it}; take it from a Secret (secretKeyRef), and name it as $(NAME)" for it in _word(said)
        )
        return
    name = said.variable["name"].text()
    if said.value.is_missing or excepted(name, around):
        return
    if _is_secret(name, said.value):
        yield f"{where}: {name} stands in the pod as it is; take it from a Secret (secretKeyRef)"
    elif _holds_token(said.value.text()):
        yield f"{where}: {name} holds a secret as it is; take it from a Secret (secretKeyRef)"


def _in_config_map(value: Value, around: Around) -> Iterator[str]:
    key = value.path.partition(".")[2]
    if excepted(key, around):
        return
    # programs and configuration speak of addresses; variables have names of one word
    if (key.isidentifier() and _is_secret(key, value)) or _TOKENS.search(value.text()):
        yield f"{value.path} stands in a ConfigMap as it is; put it into a Secret"


def _word(said: Said) -> Iterator[str]:
    before = said.before.raw if said.before else None
    if isinstance(before, str) and _FLAG.fullmatch(before) and _follows(said.value):
        yield f"{said.value.path} gives {before} as it is"
        return
    text = said.value.text()
    if found := _GIVEN.search(text):
        yield f"{said.value.path} gives {found[1]} as it is"
    elif _holds_token(text):
        yield f"{said.value.path} holds a secret as it is"


def _follows(value: Value) -> bool:
    """Whether it is what a flag before it gives, also where it is not known yet."""
    try:
        return not (value.text().startswith("--") or _PLAIN.fullmatch(value.text()))
    except NotKnownError:
        return True


def _is_secret(name: str, value: Value) -> bool:
    """Whether a value is a secret by its name. One that is not known yet will stand there all the same."""
    if not _NAMES.search(name) or _TELLS_WHERE.search(name):
        return False
    try:
        text = value.text()
    except NotKnownError:
        return True
    # tokens are counted too
    counts = "token" in name.lower() and _NUMBER.fullmatch(text)
    return bool(text) and not counts and not _PLAIN.fullmatch(text)


def _holds_token(text: str) -> bool:
    return bool(_TOKENS.search(text) or _IN_ADDRESS.search(text))


RULES = (
    Rule(
        id="plain-secrets",
        says="Secrets come from a Secret.",
        why="The environment and arguments of a pod are in its manifest, the state and every description of it.",
        source="Kubernetes documentation, secrets; vllm.md 9, 15c; PUL-02",
        kinds=WORKLOADS | {CONFIG_MAP},
        parts=_said,
        check=_tells,
        config={"exceptions": []},
    ),
)
