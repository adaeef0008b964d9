"""Users and tokens of upstream registries: from secret configuration to Secrets Manager, and nowhere else.

They are no part of the settings: those are written to manifests and outputs.
"""

import json
from collections.abc import Mapping

import pulumi

from infra.image_cache.settings import ImageCacheSettings
from infra.image_cache.upstreams import UPSTREAMS
from infra.section import Complaint, secret_text

FORM = '{"username": "...", "accessToken": "..."}'
"""As ECR reads it from Secrets Manager."""
KEYS = ("username", "accessToken")

LARGEST = 65536
"""Bytes of a secret's text (API model of secretsmanager, SecretString)."""


def credentials(
    settings: ImageCacheSettings, config: pulumi.Config
) -> tuple[Mapping[str, pulumi.Output[str]], list[Complaint]]:
    """Return the secret text for ECR by upstream name, and what is missing or wrong.

    A complaint never repeats a value. Of an upstream that is off only plain text is complained of: that token has
    leaked already.

    Args:
        settings: which upstreams are on.
        config: of the project.
    """
    found: dict[str, pulumi.Output[str]] = {}
    complaints: list[Complaint] = []
    for name, upstream in UPSTREAMS.items():
        if (key := upstream.credentials) is None:
            continue
        full = config.full_key(key)
        text, wrong = secret_text(config, key)
        complaints += wrong
        if text is None:
            if name in settings.upstreams and not wrong:
                complaints.append(_missing(name, full))
        elif name not in settings.upstreams:
            continue
        elif isinstance(parsed := _parsed(text), str):
            complaints.append(Complaint((full,), f"{parsed}; expected {FORM}"))
        else:
            found[name] = pulumi.Output.secret(json.dumps(parsed))
    return found, complaints


def _missing(upstream: str, key: str) -> Complaint:
    return Complaint(
        ("imageCache", "upstreams"),
        f"{upstream} needs the secret {key}; set it to {FORM} with `pulumi config set --secret {key}`"
        f" (in a rehearsal --secret '{key}=...'), or leave {upstream} out",
    )


def _parsed(text: str) -> Mapping[str, str] | str:
    """Return the two values without the white space around them, or what is wrong with the text."""
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return "not JSON"
    if not isinstance(value, dict) or set(value) != set(KEYS):
        return "not a mapping of exactly two keys"
    # a trailing newline would be part of an HTTP header (PUL-02)
    stripped = {key: value[key].strip() if isinstance(value[key], str) else "" for key in KEYS}
    empty = [key for key, item in stripped.items() if not item]
    if empty:
        return f"no text in {' and '.join(empty)}"
    if not all(item.isprintable() for item in stripped.values()):
        return "holds a line break or another character that is no part of a user or a token"
    if len(json.dumps(stripped).encode()) > LARGEST:
        return f"larger than the {LARGEST} bytes that Secrets Manager takes"
    return stripped
