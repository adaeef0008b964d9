"""Reading S3 with the standard library: list, get, and ranges over connections that stay open."""

import html
import http.client
import random
import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from credentials import Credentials, CredentialSource
from endpoint import AGAIN, EXPIRED, PASSING, Endpoint, trusted
from outcome import CorruptError, DeniedError, Limit, MissingError, RestoreError, TimedOutError

STALL = 5.0
"""Seconds without a byte after which a connection is given up: S3's own answers start within 0.2."""

_BUFFER = 64 * 1024
_PAGES = 100
_LONGEST_PAGE = 8 * 1024 * 1024

T = TypeVar("T")


class _AgainError(Exception):
    """This attempt failed; another may not."""


class Store:
    """One bucket. Each thread uses a `Connection` of its own."""

    def __init__(self, bucket: str, env: Mapping[str, str], limit: Limit) -> None:
        self.limit = limit
        self.source = CredentialSource(env)
        self.endpoint = Endpoint.of(bucket, env)
        self.first_byte = STALL
        """Seconds from a request to its answer, the best so far."""
        self._tls = trusted() if self.endpoint.scheme == "https" else None
        self._open: set[http.client.HTTPConnection] = set()
        self._lock = threading.Lock()

    def connect(self) -> http.client.HTTPConnection:
        """Return a new connection, not yet opened."""
        seconds = self.limit.left(STALL)
        made = (
            http.client.HTTPSConnection(self.endpoint.host, timeout=seconds, context=self._tls)
            if self._tls
            else http.client.HTTPConnection(self.endpoint.host, timeout=seconds)
        )
        with self._lock:
            self._open.add(made)
        return made

    def disconnect(self, connection: http.client.HTTPConnection) -> None:
        """Close a connection for good."""
        with self._lock:
            self._open.discard(connection)
        connection.close()

    def abort(self) -> None:
        """Wake every thread that waits for a byte: its read fails now."""
        with self._lock:
            sockets = [connection.sock for connection in self._open if connection.sock]
        for sock in sockets:
            try:
                sock.shutdown(2)
            except OSError:
                continue  # it was closed meanwhile


class Connection:
    """Requests of one thread, one after the other."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._http: http.client.HTTPConnection | None = None

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def list(self, prefix: str) -> dict[str, int]:
        """Return size by key of what begins with the prefix.

        Raises:
            RestoreError: denied, no credentials or timed out.
        """
        found: dict[str, int] = {}
        query = {"list-type": "2", "prefix": prefix}
        for _ in range(_PAGES):
            page = self._retried(f"list {prefix}", lambda: self._page(query))
            for entry in re.findall(r"<Contents>(.*?)</Contents>", page, re.DOTALL):
                key, size = re.search(r"<Key>(.*?)</Key>", entry, re.DOTALL), re.search(r"<Size>(\d+)</Size>", entry)
                if key and size:
                    found[html.unescape(key[1])] = int(size[1])
            more = re.search(r"<NextContinuationToken>(.*?)</NextContinuationToken>", page, re.DOTALL)
            if not more:
                return found
            query["continuation-token"] = html.unescape(more[1])
        raise CorruptError(f"list {prefix}: more than {_PAGES} pages")

    def get(self, key: str, most: int) -> bytes:
        """Return a small object.

        Raises:
            RestoreError: of any kind; corrupt when it is larger than `most`.
        """
        return self._retried(f"get {key}", lambda: self._small(key, {}, most))

    def read_range(self, key: str, first: int, into: memoryview, size: int) -> None:
        """Fill `into` with the object's bytes from `first` on. `size` is what the whole object must have.

        Raises:
            RestoreError: of any kind; corrupt when the size is another.
        """
        self._retried(f"get {key}", lambda: self._range(key, first, into, size))

    def _range(self, key: str, first: int, into: memoryview, size: int) -> None:
        last = first + len(into) - 1
        response = self._send(key, {}, {"range": f"bytes={first}-{last}"})
        if response.status == 416:
            raise CorruptError(f"archive is shorter than {size} bytes")
        self._check(response)
        span = response.headers.get("content-range", "")
        if response.status != 206 or span != f"bytes {first}-{last}/{size}":
            if (total := span.rpartition("/")[2]).isdigit() and int(total) != size:
                raise CorruptError(f"archive has {total} bytes, manifest says {size}")
            raise RestoreError(f"{response.status} {span!r}: this endpoint does not serve ranges")
        filled = 0
        while filled < len(into):
            count = response.readinto(into[filled:])
            if not count:
                raise _AgainError(f"connection closed after {filled} of {len(into)} bytes")
            filled += count
        response.read()  # nothing is left; this frees the connection for the next request

    def _page(self, query: Mapping[str, str]) -> str:
        page = self._small("", query, _LONGEST_PAGE).decode(errors="replace")
        # from a proxy or another server, even an empty answer comes with 200: it would look like an empty bucket
        if "<ListBucketResult" not in page:
            raise _AgainError("the answer is no listing of a bucket")
        return page

    def _small(self, key: str, query: Mapping[str, str], most: int) -> bytes:
        response = self._send(key, query, {})
        self._check(response)
        body = response.read(most + 1)
        if len(body) > most:
            raise CorruptError(f"{key or 'list'}: more than {most} bytes")
        length = response.headers.get("content-length")
        if length is not None and len(body) != int(length):
            raise _AgainError(f"connection closed after {len(body)} of {length} bytes")
        return body

    def _send(self, key: str, query: Mapping[str, str], extra: Mapping[str, str]) -> http.client.HTTPResponse:
        store = self._store
        self._used: Credentials = store.source.get(store.limit)
        target, headers = store.endpoint.request(self._used, "GET", key, query, extra)
        if self._http is None:
            self._http = store.connect()
        self._http.timeout = store.limit.left(STALL)
        if self._http.sock:
            self._http.sock.settimeout(self._http.timeout)
        started = time.monotonic()
        try:
            self._http.request("GET", target, headers=headers)
        except OSError:
            raise  # an untrusted certificate is a ValueError too
        except ValueError:
            # its text is the header's value
            raise DeniedError("the request cannot be sent as HTTP") from None
        response = self._http.getresponse()
        store.first_byte = min(store.first_byte, time.monotonic() - started)
        return response

    def _check(self, response: http.client.HTTPResponse) -> None:
        """Sort a refusal: what would pass if tried again, what is not there, what needs a human."""
        if response.status in {200, 206}:
            return
        body = response.read(_BUFFER).decode(errors="replace")
        found = re.search(r"<Code>(\w+)</Code>", body)
        code = found[1] if found else ""
        reason = f"{response.status} {code}".strip()
        if response.status in PASSING or code in AGAIN:
            raise _AgainError(reason)
        if code in EXPIRED and self._store.source.drop(self._used):
            raise _AgainError(reason)
        if response.status == 404 and code != "NoSuchBucket":
            raise MissingError(reason)
        region = response.headers.get("x-amz-bucket-region")
        ours = self._store.endpoint.region
        where = f" (bucket is in {region}, AWS_REGION is {ours})" if region not in {None, ours} else ""
        raise DeniedError(f"{reason}{where}")

    def _retried(self, what: str, attempt: Callable[[], T]) -> T:
        pause = 0.1
        reason = "limit reached"
        while True:
            try:
                return attempt()
            except TimedOutError:
                raise TimedOutError(f"{what}: {reason}") from None
            except (MissingError, DeniedError) as error:
                raise type(error)(f"{what}: {error}") from None
            except (_AgainError, OSError, http.client.HTTPException) as error:
                reason = f"{type(error).__name__.strip('_')}: {error}"
            # what a broken connection still holds belongs to a request that is given up
            self._close()
            self._store.limit.pause(pause * random.uniform(0.5, 1.5))  # noqa: S311 - spreads retries, no secret
            pause = min(2 * pause, 2.0)
            if self._store.limit.over():
                raise TimedOutError(f"{what}: {reason}")

    def _close(self) -> None:
        if self._http is not None:
            self._store.disconnect(self._http)
            self._http = None
