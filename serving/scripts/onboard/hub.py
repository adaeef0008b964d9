"""Hugging Face's hub: what a commit holds, and ranges of its files.

Large files are read over plain HTTP from where `/resolve/` sends the client. For Xet-backed files that is the hub's
bridge, which answers ranges of the whole file; the Xet protocol itself is not spoken. Both are unproven here: tests
know a local stand-in only.
"""

import hashlib
import json
import re
import threading
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from transfer import Hasher
from web import BODY_LIMIT, OK, PARTIAL, LaterError, RefusedError, Reply, Web, retried

_TOKEN = re.compile(r"[\x21-\x7e]+", re.ASCII)
_NEXT = re.compile(r'<([^>]+)>\s*;\s*rel="?next"?')

_ENDPOINT = re.compile(r"https?://[A-Za-z0-9.-]+(?::([0-9]{1,5}))?(?:/[A-Za-z0-9._~/-]*)?", re.ASCII)

WHOLE = BODY_LIMIT
"""Bytes of a file that is held in memory at once: config and index. An announced size costs nothing, memory does."""

HOPS = 5
"""Redirects of one request: a renamed repository, then the content network."""

PAGES = 1000
"""Of a listing, 1,000 files each."""


@dataclass(frozen=True)
class HubFile:
    """A file of a commit, and what its content must hash to."""

    name: str
    size: int
    kind: str
    """`sha256` for files in LFS or Xet, `git` (the SHA-1 of a git blob) for small ones: the commit vouches for both."""
    digest: str

    @property
    def source(self) -> str:
        """Return kind and hash in one word."""
        return f"{self.kind}:{self.digest}"

    def hasher(self) -> Hasher:
        """Return what computes `digest` from the content."""
        if self.kind == "sha256":
            return hashlib.sha256()
        return hashlib.sha1(b"blob %d\x00" % self.size, usedforsecurity=False)  # git's own object name


class Hub:
    """One commit of one repository."""

    def __init__(self, web: Web, endpoint: str, repository: str, commit: str, token: str) -> None:
        self.repository, self.commit = repository, commit
        self._web, self._endpoint = web, endpoint.rstrip("/")
        self._token = token
        self._places: dict[str, str] = {}
        self._lock = threading.Lock()
        quoted = urllib.parse.quote(repository)
        self._api = f"{self._endpoint}/api/models/{quoted}"
        self._files = f"{self._endpoint}/{quoted}/resolve/{commit}"

    def files(self) -> list[HubFile]:
        """Return every file of the commit.

        Raises:
            RefusedError: the hub does not show it, or shows another commit.
        """
        found = self._json(f"{self._api}/revision/{self.commit}")[0]
        if not isinstance(found, dict) or found.get("sha") != self.commit:
            raise RefusedError(f"{self.repository}: the hub answers with another commit than {self.commit}")
        url, files = f"{self._api}/tree/{self.commit}?recursive=true", list[HubFile]()
        for _ in range(PAGES):
            entries, reply = self._json(url)
            files += _entries(entries, self.repository)
            following = _NEXT.search(reply.header("Link"))
            if following is None:
                return files
            url = urllib.parse.urljoin(url, following.group(1))
        raise RefusedError(f"{self.repository}: more than {PAGES} pages of files")

    def content(self, file: HubFile) -> bytes:
        """Return a small file, checked against the commit.

        Raises:
            RefusedError: it is none, or other than the commit says.
        """
        if file.size > WHOLE:
            raise RefusedError(f"{file.name}: {file.size} bytes, and it must be read at once: at most {WHOLE}")
        content = bytearray(file.size)
        self.read(file, 0, memoryview(content))
        hasher = file.hasher()
        hasher.update(bytes(content))
        if hasher.hexdigest() != file.digest:
            raise RefusedError(f"{file.name}: the hub's bytes do not hash to {file.source}")
        return bytes(content)

    def read(self, file: HubFile, start: int, into: memoryview) -> None:
        """Fill the buffer with the file's bytes from `start` on."""
        if len(into):
            self._web.patiently(lambda: self._read(file, start, into))

    def _read(self, file: HubFile, start: int, into: memoryview) -> None:
        first = f"{self._files}/{urllib.parse.quote(file.name)}"
        known = self._places.get(file.name)
        url = known or first
        wanted = f"bytes={start}-{start + len(into) - 1}"
        for _ in range(HOPS):
            # no other encoding: lengths and ranges are those of the file
            reply = self._get(url, {"Range": wanted, "Accept-Encoding": "identity"}, into)
            if self._ours(url):
                self._agreed(reply, file)
            if reply.status not in (301, 302, 303, 307, 308):
                break
            url = self._next(url, reply, file.name)
        if reply.status in (OK, PARTIAL):
            _check_range(reply, file, start, len(into))
            with self._lock:
                # signed for about an hour: asking the hub once for each file keeps its rate limits away
                self._places[file.name] = url
            return
        if known is not None and not self._ours(url):
            with self._lock:
                # another stream may have met the same, and asked again meanwhile
                if self._places.get(file.name) == known:
                    del self._places[file.name]
            raise LaterError(f"{file.name}: the signed address has expired", 0.0)
        self._refuse(reply, file.name, ours=self._ours(url))

    def _get(self, url: str, headers: dict[str, str], into: memoryview | None = None) -> Reply:
        if self._token and self._ours(url):
            headers = {**headers, "Authorization": f"Bearer {self._token}"}
        reply = self._web.exchange("GET", url, {"User-Agent": "vllm-eks-onboard", **headers}, into=into)
        retried(reply, urllib.parse.urlsplit(url).netloc)
        return reply

    def _json(self, url: str) -> tuple[Any, Reply]:
        def attempt() -> tuple[Any, Reply]:
            at = url
            for _ in range(HOPS):
                reply = self._get(at, {"Accept": "application/json"})
                if reply.status not in (301, 302, 303, 307, 308):
                    break
                at = self._next(at, reply, self.repository)
            if reply.status != OK:
                self._refuse(reply, self.repository, ours=self._ours(at))
            try:
                return json.loads(reply.body), reply
            except (ValueError, RecursionError):
                raise LaterError(f"{self.repository}: the hub's answer is no JSON") from None

        return self._web.patiently(attempt)

    def _ours(self, url: str) -> bool:
        """Tell whether the token may go there: scheme, host and port are the hub's own."""
        here, there = urllib.parse.urlsplit(self._endpoint), urllib.parse.urlsplit(url)
        return (here.scheme, here.netloc) == (there.scheme, there.netloc)

    def _next(self, url: str, reply: Reply, what: str) -> str:
        target = urllib.parse.urljoin(url, reply.header("Location"))
        parts = urllib.parse.urlsplit(target)
        if parts.scheme not in {"https", urllib.parse.urlsplit(self._endpoint).scheme} or not parts.hostname:
            raise RefusedError(f"{what}: the hub sends us to {parts.scheme}://{parts.netloc}; expected https")
        return target

    def _agreed(self, reply: Reply, file: HubFile) -> None:
        """Compare what the hub says of a file with what it said of the commit."""
        commit, size = reply.header("X-Repo-Commit"), reply.header("X-Linked-Size")
        etag = reply.header("X-Linked-ETag").removeprefix("W/").strip('"')
        if commit and commit != self.commit:
            raise RefusedError(f"{file.name}: the hub resolves it in another commit than {self.commit}")
        if (size and size != str(file.size)) or (etag and file.kind == "sha256" and etag != file.digest):
            raise RefusedError(f"{file.name}: size or hash differ between the hub's listing and its answer")

    def _refuse(self, reply: Reply, what: str, *, ours: bool) -> NoReturn:
        """Raise one line for each way to be turned away. The code header tells what one status hides."""
        code, status = reply.header("X-Error-Code"), reply.status
        if not ours:
            raise RefusedError(f"{what}: the content network answers {status}")
        if status == 401 and not self._token:
            gated = "is gated" if code == "GatedRepo" else "does not exist, or is private or gated"
            raise RefusedError(f"401: {self.repository} {gated}, and there is no token: set HF_TOKEN")
        if status == 401:
            raise RefusedError(f"401: the hub does not accept the token in HF_TOKEN for {self.repository}")
        if status == 403:
            raise RefusedError(
                f"403: the token's account may not read {self.repository}: ask for access at"
                f" {self._endpoint}/{self.repository}, and let the token read gated repositories"
            )
        if status == 404:
            missing = {
                "RevisionNotFound": f"has no commit {self.commit}",
                "EntryNotFound": f"has no file {what} in {self.commit}",
            }.get(code, f"is not there, or has no commit {self.commit}")
            raise RefusedError(f"404: {self.repository} {missing}")
        raise RefusedError(f"{what}: the hub answers {status}")


def clean_token(value: str) -> str:
    """Return the token without white space around it (a secret made from a file ends in a newline).

    Raises:
        RefusedError: it could not be sent. The message does not hold it.
    """
    token = value.strip()
    if token and not _TOKEN.fullmatch(token):
        raise RefusedError("HF_TOKEN holds white space or control characters inside: it is no token")
    return token


def clean_endpoint(value: str) -> str:
    """Return the hub's address.

    Raises:
        ValueError: it is none, or says more than where. The message does not hold it: there may be a password inside.
    """
    found = _ENDPOINT.fullmatch(value)
    if found is None or not 0 < int(found[1] or 443) < 65536:
        raise ValueError("HF_ENDPOINT is no address of a hub: want http(s)://<host>[:<port>][/<path>], and no user")
    return value


def _entries(entries: Any, repository: str) -> Iterator[HubFile]:
    try:
        for entry in entries:
            if entry["type"] == "file":
                lfs = entry.get("lfs")
                kind, digest = ("sha256", lfs["oid"]) if lfs else ("git", entry["oid"])
                size = int((lfs or entry)["size"])
                if size < 0 or not re.fullmatch(r"[0-9a-f]{64}" if lfs else r"[0-9a-f]{40}", digest):
                    raise ValueError
                yield HubFile(str(entry["path"]), size, kind, digest)
    except (TypeError, KeyError, ValueError, OverflowError, AttributeError):
        raise RefusedError(f"{repository}: the hub's list of files has another form than expected") from None


def _check_range(reply: Reply, file: HubFile, start: int, length: int) -> None:
    """Refuse an answer that is another piece of the file than was asked for."""
    if reply.status == PARTIAL:
        if reply.header("Content-Range") != f"bytes {start}-{start + length - 1}/{file.size}":
            raise RefusedError(f"{file.name}: another range came than was asked for, or the size is not {file.size}")
    elif start or length != file.size:
        raise RefusedError(f"{file.name}: the content network ignores ranges")
