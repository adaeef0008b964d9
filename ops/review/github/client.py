"""GitHub's REST API, as little of it as a comment and an issue need, with a bounded patience for its bad moments.

Sources: docs.github.com, "REST API endpoints for issue comments", "Rate limits for the REST API" (403 or 429 with
`retry-after`, or `x-ratelimit-remaining: 0` and `x-ratelimit-reset`; else wait at least a minute).
"""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import urllib3

from ops.failures import RefusedError, UnclearError
from ops.terminal import echo

API = "https://api.github.com"
TIMEOUT = 20.0
"""Seconds of one request."""

PATIENCE = 180.0
"""Seconds that all waiting of one run may take. A limit that lasts longer is for another run."""

_SECONDARY = 60.0
_TRIES = 5
_PAGE = 100
_MOST_PAGES = 100
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_FAULTS = frozenset({500, 502, 503, 504})


class NoAnswerError(UnclearError):
    """GitHub has not said what became of a request: it may have been carried out."""


@dataclass
class GitHub:
    """One repository."""

    repository: str
    """`owner/name`."""
    api: str
    token: str = field(repr=False)
    waited: float = 0.0
    """Seconds, so far."""
    _pool: urllib3.PoolManager = field(default_factory=lambda: urllib3.PoolManager(retries=False), repr=False)

    def get(self, path: str) -> Any:
        """Return what lies at a path below the repository."""
        return self._asked("GET", path, None)

    def pages(self, path: str) -> Iterator[dict[str, Any]]:
        """Yield what a list holds, of all its pages."""
        for page in range(1, _MOST_PAGES + 1):
            mark = "&" if "?" in path else "?"
            found = self.get(f"{path}{mark}per_page={_PAGE}&page={page}")
            if not isinstance(found, list):
                raise UnclearError(f"{self.api}{self._path(path)}: not the list that GitHub has there")
            yield from found
            if len(found) < _PAGE:
                return
        raise UnclearError(f"{self.api}{self._path(path)}: more than {_MOST_PAGES} pages")

    def change(self, path: str, content: dict[str, Any]) -> Any:
        """Change what lies at a path. Done twice it is the same, so it is asked again after a fault."""
        return self._asked("PATCH", path, content)

    def make(self, path: str, content: dict[str, Any]) -> Any:
        """Make something new.

        Raises:
            NoAnswerError: a fault of GitHub's; it may be there all the same, so look before making it again.
        """
        return self._asked("POST", path, content)

    def _path(self, path: str) -> str:
        return f"/repos/{self.repository}/{path}"

    def _asked(self, method: str, path: str, content: dict[str, Any] | None) -> Any:
        what = f"{method} {self.api}{self._path(path)}"
        for attempt in range(1, _TRIES + 1):
            response, fault = self._once(method, path, content)
            if response is not None and response.status < 300:
                return _json(response, what)
            pause = _limited(response)
            if pause is None and response is not None and response.status not in _FAULTS:
                raise _refused(response, what)
            if pause is None and method == "POST":
                raise NoAnswerError(f"{what}: {fault}")
            pause = 2.0**attempt if pause is None else pause
            if attempt == _TRIES or self.waited + pause > PATIENCE:
                raise UnclearError(
                    f"{what}: {fault}, also after {attempt} tries and {self.waited:.0f} s; run it again later"
                )
            self.waited += pause
            time.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def _once(
        self, method: str, path: str, content: dict[str, Any] | None
    ) -> tuple[urllib3.BaseHTTPResponse | None, str]:
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "User-Agent": "vllm-eks",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        body = None if content is None else json.dumps(content)
        try:
            # no redirect: the token is for this host
            response = self._pool.request(
                method, f"{self.api}{self._path(path)}", body=body, headers=headers, timeout=TIMEOUT, redirect=False
            )
        except urllib3.exceptions.HTTPError as failure:
            return None, f"no answer ({type(failure).__name__})"
        return response, f"{response.status} {_message(response)}".strip()


def connected(repository: str) -> GitHub:
    """Return GitHub with the token of this job (`GITHUB_TOKEN`, and `GITHUB_API_URL` where it is GitHub Enterprise).

    Raises:
        UnclearError: there is no token, or it would be sent in the clear.
    """
    token = os.environ.get("GITHUB_TOKEN", "").strip()
    if not token:
        raise UnclearError("GITHUB_TOKEN is not set: nobody to ask GitHub as")
    api = os.environ.get("GITHUB_API_URL", API).rstrip("/")
    place = urlsplit(api)
    if place.scheme != "https" and place.hostname not in _LOOPBACK:
        raise UnclearError(f"GITHUB_API_URL {echo(api)}: expected https, a token is sent there")
    return GitHub(repository=repository, api=api, token=token)


def _limited(response: urllib3.BaseHTTPResponse | None) -> float | None:
    """Return the seconds until a rate limit ends; None: it was none."""
    if response is None or response.status not in {403, 429}:
        return None
    after = response.headers.get("retry-after", "")
    if after.isdecimal():
        return float(after)
    if response.headers.get("x-ratelimit-remaining") == "0":
        reset = response.headers.get("x-ratelimit-reset", "")
        return max(1.0, float(reset) - time.time()) if reset.isdecimal() else _SECONDARY
    limited = response.status == 429 or "rate limit" in _message(response).lower()
    return _SECONDARY if limited else None


def _refused(response: urllib3.BaseHTTPResponse, what: str) -> RefusedError | UnclearError:
    said = f"{what}: {response.status} {_message(response)}".strip()
    if response.status == 401:
        return UnclearError(f"{said}: the token is not valid any more")
    if response.status == 403:
        return UnclearError(
            f"{said}: the token may not do this; the job needs `pull-requests: write` (or `issues: write`)"
        )
    if response.status == 404:
        return RefusedError(f"{said}: not there, or the token may not see it")
    if 300 <= response.status < 400:
        return RefusedError(f"{said}: it has moved; name it as it is called now")
    return RefusedError(said)


def _message(response: urllib3.BaseHTTPResponse) -> str:
    try:
        said = json.loads(response.data)["message"]
    except (ValueError, LookupError, TypeError):
        return ""
    return echo(said) if said and isinstance(said, str) else ""


def _json(response: urllib3.BaseHTTPResponse, what: str) -> Any:
    try:
        return json.loads(response.data)
    except ValueError:
        raise UnclearError(f"{what}: {response.status}, and no JSON") from None
