"""Writing S3 with the standard library: multipart uploads from memory, conditional objects, listings.

A part is covered by a CRC-32 that S3 checks before it answers, so a bit that flips on the way costs a retry. The body
is not part of the signature: TLS carries it, and hashing each byte once more would halve the throughput of a core.
"""

import base64
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

import sign
from credentials import Credentials, CredentialSource
from endpoint import AGAIN, EXPIRED, Endpoint
from outcome import DeniedError as MisconfiguredError
from outcome import Limit, NoCredentialsError, TimedOutError
from web import OK, PARTIAL, LaterError, RefusedError, Reply, UnclearError, Web, retried

MOST_PARTS = 10_000
SMALLEST_PART = 5 * 1024**2
_DAMAGED = {"BadDigest", "InvalidDigest", "XAmzContentChecksumMismatch", "IncompleteBody"}
_EXISTS = "PreconditionFailed"
_SPACE = "{http://s3.amazonaws.com/doc/2006-03-01/}"


class DeniedError(RefusedError):
    """The identity may not do that."""


class ExistsError(RefusedError):
    """A conditional write found an object."""


@dataclass(frozen=True)
class Part:
    """What S3 answered for a part."""

    number: int
    etag: str
    crc: str


@dataclass(frozen=True)
class Listed:
    """What a listing says of an object."""

    size: int
    etag: str
    """Another one after each write. Not a hash of the content where that came in parts or is encrypted by KMS."""


class Bucket:
    """One bucket, as the pod's own identity."""

    def __init__(self, web: Web, name: str, env: Mapping[str, str]) -> None:
        # what the environment lacks says nothing of the bucket's content
        if "AWS_ACCESS_KEY_ID" not in env and not env.get("AWS_CONTAINER_CREDENTIALS_FULL_URI"):
            raise UnclearError("no AWS credentials: the pod was admitted without a Pod Identity association")
        try:
            self._endpoint = Endpoint.of(name, env)
        except MisconfiguredError as error:
            raise UnclearError(str(error)) from None
        self.name, self._web, self._source = name, web, CredentialSource(env)

    def list(self, prefix: str) -> dict[str, int]:
        """Return the size of every object below the prefix."""
        return {key: listed.size for key, listed in self.listing(prefix).items()}

    def listing(self, prefix: str) -> dict[str, Listed]:
        """Return every object below the prefix by its key."""
        found: dict[str, Listed] = {}
        query = {"list-type": "2", "prefix": prefix}
        while True:
            page = self._xml("GET", "", query)
            found |= {
                _text(item, "Key"): Listed(int(_text(item, "Size")), _text(item, "ETag"))
                for item in page.iter(f"{_SPACE}Contents")
            }
            if not (following := _text(page, "NextContinuationToken")):
                return found
            query["continuation-token"] = following

    def metadata(self, key: str) -> dict[str, str] | None:
        """Return the metadata that was written with an object, nothing when there is none."""
        reply = self._send("HEAD", key, {}, allowed=(404,))
        if reply.status != OK:
            return None
        return {
            name.lower()[11:]: value for name, value in reply.headers.items() if name.lower().startswith("x-amz-meta-")
        }

    def get(self, key: str) -> bytes | None:
        """Return a small object, nothing when there is none."""
        reply = self._send("GET", key, {}, allowed=(404,))
        return reply.body if reply.status == OK else None

    def read(self, key: str, start: int, into: memoryview, etag: str = "") -> None:
        """Fill the buffer with the object's bytes from `start` on.

        Args:
            key: of the object.
            start: of the range.
            into: as long as the range.
            etag: what the object's must be; empty: any.

        Raises:
            UnclearError: the object has another ETag by now.
        """
        if len(into):
            wanted = {"range": f"bytes={start}-{start + len(into) - 1}"}
            reply = self._send("GET", key, {}, extra=wanted, into=into)
            if reply.status != PARTIAL or not reply.header("Content-Range").startswith(
                f"bytes {start}-{start + len(into) - 1}/"
            ):
                raise RefusedError(f"{key}: S3 answers another range than asked for")
            if etag and reply.header("ETag") != etag:
                raise UnclearError(f"{key}: another object than was listed; does something write there?")

    def put(self, key: str, body: bytes | memoryview, meta: Mapping[str, str], *, only_new: bool = False) -> None:
        """Write an object in one request: it is there as a whole or not at all.

        Raises:
            ExistsError: `only_new`, and there is one.
        """
        extra = {"x-amz-checksum-crc32": _crc(body)} | _meta(meta) | _condition(only_new=only_new)
        self._send("PUT", key, {}, body=body, extra=extra)

    def uploads(self, prefix: str) -> Iterator[tuple[str, str]]:
        """Yield key and id of every unfinished multipart upload below the prefix."""
        query = {"uploads": "", "prefix": prefix}
        while True:
            page = self._xml("GET", "", query)
            for item in page.iter(f"{_SPACE}Upload"):
                yield _text(item, "Key"), _text(item, "UploadId")
            if _text(page, "IsTruncated") != "true":
                return
            query["key-marker"] = _text(page, "NextKeyMarker")
            query["upload-id-marker"] = _text(page, "NextUploadIdMarker")

    def start(self, key: str, meta: Mapping[str, str]) -> str:
        """Begin a multipart upload and return its id."""
        extra = {"x-amz-checksum-algorithm": "CRC32"} | _meta(meta)
        return _text(self._xml("POST", key, {"uploads": ""}, extra=extra), "UploadId")

    def part(self, key: str, upload: str, number: int, body: memoryview) -> Part:
        """Upload one part."""
        crc = _crc(body)
        query = {"partNumber": str(number), "uploadId": upload}
        reply = self._send("PUT", key, query, body=body, extra={"x-amz-checksum-crc32": crc})
        return Part(number, reply.header("ETag"), crc)

    def finish(self, key: str, upload: str, parts: Iterator[Part], size: int, *, only_new: bool = False) -> None:
        """Turn the parts into the object. S3 refuses when they do not add up to the size.

        Raises:
            ExistsError: `only_new`, and there is one; the upload is still to be aborted.
        """
        rows = "".join(
            f"<Part><PartNumber>{part.number}</PartNumber><ETag>{escape(part.etag)}</ETag>"
            f"<ChecksumCRC32>{part.crc}</ChecksumCRC32></Part>"
            for part in parts
        )
        body = f'<CompleteMultipartUpload xmlns="{_SPACE[1:-1]}">{rows}</CompleteMultipartUpload>'.encode()
        extra = {"x-amz-mp-object-size": str(size)} | _condition(only_new=only_new)
        self._xml("POST", key, {"uploadId": upload}, body=body, extra=extra)

    def abort(self, key: str, upload: str) -> None:
        """Drop an unfinished upload and what it stores."""
        self._send("DELETE", key, {"uploadId": upload}, allowed=(404,))

    def _xml(self, method: str, key: str, query: Mapping[str, str], **more: Any) -> ET.Element:
        def attempt() -> ET.Element:
            try:
                root = ET.fromstring(self._once(method, key, query, **more).body)  # noqa: S314 - S3's own answer
            except ET.ParseError:
                raise LaterError(f"{self.name}: S3's answer is no XML") from None
            # CompleteMultipartUpload may fail after it has said 200
            if root.tag == "Error":
                if root.findtext("Code") == _EXISTS:
                    raise ExistsError(f"{key}: is there already")
                raise LaterError(f"{self.name}: {root.findtext('Code')}")
            return root

        return self._web.patiently(attempt)

    def _send(self, method: str, key: str, query: Mapping[str, str], **more: Any) -> Reply:
        return self._web.patiently(lambda: self._once(method, key, query, **more))

    def _once(
        self,
        method: str,
        key: str,
        query: Mapping[str, str],
        *,
        body: bytes | memoryview = b"",
        extra: Mapping[str, str] | None = None,
        into: memoryview | None = None,
        allowed: tuple[int, ...] = (),
    ) -> Reply:
        try:
            keys = self._source.get(Limit(self._web.patience))
        except (NoCredentialsError, TimedOutError) as error:
            raise UnclearError(f"no AWS credentials: {error}") from None
        target, headers = self._endpoint.request(keys, method, key, query, extra or {}, sign.UNSIGNED)
        url = f"{self._endpoint.scheme}://{self._endpoint.host}{target}"
        reply = self._web.exchange(method, url, headers, body, into)
        if reply.status < 300 or (reply.status in allowed and _code(reply) != "NoSuchBucket"):
            return reply
        raise self._refusal(reply, keys, key)

    def _refusal(self, reply: Reply, keys: Credentials, key: str) -> Exception:
        """Return one line for each way in which S3 says no."""
        code, region = _code(reply), reply.header("x-amz-bucket-region")
        what = f"s3://{self.name}/{key}: {reply.status} {code}".rstrip()
        if region and region != self._endpoint.region:
            return RefusedError(f"bucket {self.name} is in {region}, AWS_REGION is {self._endpoint.region}")
        if code == _EXISTS:
            return ExistsError(f"{key}: is there already")
        if code in EXPIRED and self._source.drop(keys):
            return LaterError(what, 0.0)
        if code in AGAIN | _DAMAGED:
            return LaterError(what)
        retried(reply, f"s3://{self.name}")
        if code == "NoSuchBucket":
            return RefusedError(f"bucket {self.name} does not exist")
        if code == "NoSuchUpload":
            return UnclearError(f"{what}: the upload was aborted; does another onboarding write this prefix?")
        return (DeniedError if reply.status == 403 else RefusedError)(what)


def _code(reply: Reply) -> str:
    if b"<Code>" not in reply.body:
        return ""
    return reply.body.split(b"<Code>", 1)[1].split(b"<", 1)[0].decode(errors="replace")[:60]


def _text(element: ET.Element, name: str) -> str:
    return element.findtext(f"{_SPACE}{name}") or ""


def _crc(body: bytes | memoryview) -> str:
    return base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode()


def _condition(*, only_new: bool) -> dict[str, str]:
    return {"if-none-match": "*"} if only_new else {}


def _meta(meta: Mapping[str, str]) -> dict[str, str]:
    return {f"x-amz-meta-{name}": value for name, value in meta.items()}
