"""Whether a registry has an image: the OCI distribution API, asked as anybody. No credentials are read or sent.

Spec: github.com/opencontainers/distribution-spec, "Checking if content exists in the registry"; tokens as Docker's
registries give them (distribution, docs/spec/auth/token.md).
"""

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

from infra.image_cache.reference import ImageReference
from infra.image_cache.upstreams import UPSTREAMS

TIMEOUT = 15.0
"""Seconds of one request."""

LARGEST_TOKEN = 64 * 1024
"""Bytes of an answer with a token that are read."""

MEDIA_TYPES = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)
"""A registry answers 404 for a manifest of a kind that is not asked for."""

_FIELD = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True)
class Said:
    """A registry's answer."""

    there: bool | None
    """None: it does not tell."""
    detail: str
    """Its digest, or what the registry said instead."""
    fix: str = "reach the registry from here, then run again"
    """What to do when it does not tell."""


@dataclass(frozen=True)
class Response:
    """Of HTTP, as much as is needed."""

    status: int
    headers: Any
    body: bytes


Transport = Callable[[str, str, dict[str, str]], Response]
"""Takes method, URL and headers. Raises OSError or HTTPException where nobody answers."""


def over_the_net(method: str, url: str, headers: dict[str, str]) -> Response:
    """Ask with the proxies of the environment, and with no credentials of it.

    Raises:
        OSError, HTTPException: nobody answers.
    """
    request = urllib.request.Request(url, headers=headers, method=method)  # noqa: S310 - https, or a test's own stub
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answered:  # noqa: S310 - the same
            return Response(answered.status, answered.headers, answered.read(LARGEST_TOKEN))
    except urllib.error.HTTPError as error:
        with error:
            return Response(error.code, error.headers, b"")


@dataclass(frozen=True, kw_only=True)
class Registries:
    """The registries of the world."""

    transport: Transport = over_the_net
    scheme: str = "https"

    def has(self, image: ImageReference) -> Said:
        """Return whether an image's own registry has it. By digest where the reference has one: nodes do so too."""
        host = next((it.url for it in UPSTREAMS.values() if it.registry == image.registry), image.registry)
        name = image.digest or image.tag or "latest"
        url = f"{self.scheme}://{host}/v2/{image.path}/manifests/{name}"
        try:
            said = self.transport("HEAD", url, {"Accept": MEDIA_TYPES})
            if said.status == 401 and (token := self._token(said.headers.get("WWW-Authenticate") or "")):
                said = self.transport("HEAD", url, {"Accept": MEDIA_TYPES, "Authorization": f"Bearer {token}"})
        except (OSError, HTTPException, ValueError) as error:
            return Said(None, " ".join(f"{host}: {getattr(error, 'reason', None) or error}".split()))
        if said.status == 200:
            return Said(True, said.headers.get("Docker-Content-Digest") or "")
        if said.status == 404:
            return Said(False, f"{host} has no {image.path}:{name}")
        if said.status in {401, 403}:
            look = f"look with a login of your own: docker manifest inspect {image}"
            return Said(None, f"{host} answers {said.status}: private, or not there", look)
        busy = ": too many requests" if said.status == 429 else ""
        return Said(None, f"{host} answers {said.status}{busy}", "run again later")

    def _token(self, challenge: str) -> str | None:
        """Return the token that a registry hands to anybody, or None where it hands out none.

        Raises:
            OSError, HTTPException, ValueError: who gives them does not answer, or not in JSON.
        """
        kind, _, rest = challenge.partition(" ")
        fields = dict(_FIELD.findall(rest))
        realm = fields.pop("realm", "")
        if kind.lower() != "bearer" or not realm.startswith(f"{self.scheme}://"):
            return None
        query = urllib.parse.urlencode({key: fields[key] for key in ("service", "scope") if key in fields})
        said = self.transport("GET", f"{realm}?{query}", {})
        if said.status != 200:
            return None
        found = json.loads(said.body)
        token = found.get("token") or found.get("access_token") if isinstance(found, dict) else None
        return token if isinstance(token, str) else None
