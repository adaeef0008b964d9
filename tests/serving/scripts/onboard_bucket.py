"""A bucket on loopback that can be written: single and multipart, checksums, conditions, listings, faults.

Nothing is an object before it is whole, as in S3.
"""

import base64
import hashlib
import re
import threading
import urllib.parse
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.sax.saxutils import escape

from tests.serving.scripts.onboard_hub import Quiet, Server

BUCKET, REGION = "models-bucket", "us-west-2"
SPACE = "http://s3.amazonaws.com/doc/2006-03-01/"


class Ask(NamedTuple):
    method: str
    target: str
    """Path and query, as sent."""


@dataclass
class Object:
    body: bytes
    meta: dict[str, str]


@dataclass
class Upload:
    key: str
    meta: dict[str, str]
    parts: dict[int, tuple[str, str, bytes]] = field(default_factory=dict)


class FakeBucket:
    """One bucket. `keep=False` takes bodies and forgets them, for benchmarks."""

    def __init__(self, *, keep: bool = True) -> None:
        self.keep = keep
        self.objects: dict[str, Object] = {}
        self.uploads: dict[str, Upload] = {}
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.fault: Callable[[Ask], tuple[int, str, dict[str, str]] | None] = lambda _: None
        """Returns (status, code, headers)."""
        self.last = b""
        """The body of the newest request."""
        self.lock = threading.Lock()
        bucket = self

        class Handler(Quiet):
            def __getattr__(self, name: str) -> Callable[[], None]:
                if name.startswith("do_"):
                    return lambda: bucket.serve(self)
                raise AttributeError(name)

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = self._server.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def serve(self, request: Quiet) -> None:
        body = bytearray(int(request.headers.get("Content-Length", 0)))
        view = memoryview(body)
        while len(view):
            count = request.rfile.readinto(view)
            if not count:
                return
            view = view[count:]
        self.requests.append((request.command, request.path, dict(request.headers)))
        self.last = bytes(body) if self.keep else b""
        if fault := self.fault(Ask(request.command, request.path)):
            status, code, headers = fault
            request.answer(status, f"<Error><Code>{code}</Code></Error>".encode(), **headers)
            return
        url = urllib.parse.urlsplit(request.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        name, _, key = urllib.parse.unquote(url.path)[1:].partition("/")
        crc = request.headers.get("x-amz-checksum-crc32")
        if name != BUCKET:
            self._error(request, 404, "NoSuchBucket")
        elif crc and base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode() != crc:
            self._error(request, 400, "BadDigest")
        else:
            match request.command:
                case "PUT":
                    self._put(request, key, query, body)
                case "POST":
                    self._post(request, key, query, body)
                case "DELETE":
                    self._delete(request, query)
                case _:
                    self._get(request, key, query)

    def _error(self, request: Quiet, status: int, code: str) -> None:
        request.answer(status, f"<Error><Code>{code}</Code></Error>".encode())

    def _get(self, request: Quiet, key: str, query: dict[str, str]) -> None:
        if "uploads" in query:
            rows = "".join(
                f"<Upload><Key>{escape(upload.key)}</Key><UploadId>{name}</UploadId></Upload>"
                for name, upload in self.uploads.items()
                if upload.key.startswith(query["prefix"])
            )
            self._xml(request, "ListMultipartUploadsResult", f"<IsTruncated>false</IsTruncated>{rows}")
        elif not key:
            self._list(request, query)
        elif key not in self.objects:
            self._error(request, 404, "NoSuchKey")
        else:
            found = self.objects[key]
            meta = {f"x-amz-meta-{name}": value for name, value in found.meta.items()}
            span = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("Range", ""))
            if span:
                first, last = int(span[1]), int(span[2])
                ranged = {"Content-Range": f"bytes {first}-{last}/{len(found.body)}"}
                request.answer(206, memoryview(found.body)[first : last + 1], **meta, **ranged)
            else:
                request.answer(200, found.body, **meta)

    def _list(self, request: Quiet, query: dict[str, str]) -> None:
        after = query.get("continuation-token", "")
        keys = sorted(key for key in self.objects if key.startswith(query["prefix"]) and key > after)
        page = keys[:3]  # so that every test follows pages
        rows = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{len(self.objects[key].body)}</Size></Contents>" for key in page
        )
        more = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if len(keys) > len(page) else ""
        self._xml(request, "ListBucketResult", rows + more)

    def _xml(self, request: Quiet, name: str, content: str) -> None:
        request.answer(200, f'<?xml version="1.0"?><{name} xmlns="{SPACE}">{content}</{name}>'.encode())

    def _meta(self, request: Quiet) -> dict[str, str]:
        return {name[11:]: value for name, value in request.headers.items() if name.startswith("x-amz-meta-")}

    def _put(self, request: Quiet, key: str, query: dict[str, str], body: bytearray) -> None:
        etag = f'"{hashlib.md5(body[:64], usedforsecurity=False).hexdigest()}"'
        with self.lock:
            if "uploadId" in query:
                if query["uploadId"] not in self.uploads:
                    return self._error(request, 404, "NoSuchUpload")
                crc = request.headers["x-amz-checksum-crc32"]
                kept = bytes(body) if self.keep else b""
                self.uploads[query["uploadId"]].parts[int(query["partNumber"])] = etag, crc, kept
            elif request.headers.get("If-None-Match") == "*" and key in self.objects:
                return self._error(request, 412, "PreconditionFailed")
            else:
                self.objects[key] = Object(bytes(body), self._meta(request))
        return request.answer(200, ETag=etag)

    def _post(self, request: Quiet, key: str, query: dict[str, str], body: bytearray) -> None:
        if "uploads" in query:
            name = f"upload-{len(self.requests)}-{len(self.uploads)}"
            self.uploads[name] = Upload(key, self._meta(request))
            return self._xml(request, "InitiateMultipartUploadResult", f"<UploadId>{name}</UploadId>")
        with self.lock:
            upload = self.uploads.get(query["uploadId"])
            if upload is None:
                return self._error(request, 404, "NoSuchUpload")
            asked = re.findall(
                r"<PartNumber>(\d+)</PartNumber><ETag>(.*?)</ETag><ChecksumCRC32>(.*?)</ChecksumCRC32>", body.decode()
            )
            stored = [(str(number), escape(etag), crc) for number, (etag, crc, _) in sorted(upload.parts.items())]
            whole = b"".join(part[2] for _, part in sorted(upload.parts.items()))
            if asked != stored or (self.keep and len(whole) != int(request.headers["x-amz-mp-object-size"])):
                return self._error(request, 400, "InvalidPart")
            self.objects[key] = Object(whole, upload.meta)
            del self.uploads[query["uploadId"]]
        return self._xml(request, "CompleteMultipartUploadResult", f"<Key>{escape(key)}</Key>")

    def _delete(self, request: Quiet, query: dict[str, str]) -> None:
        with self.lock:
            found = self.uploads.pop(query.get("uploadId", ""), None)
        request.answer(204 if found else 404)
