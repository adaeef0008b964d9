"""An S3 on loopback that takes writes: single and in parts, checksums, conditions, listings, ranges, faults.

As in S3, nothing is an object before it is whole, and of two conditional writes one wins.
"""

import base64
import hashlib
import re
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from tests.serving.scripts.stands.loopback import Quiet, Server
from tests.serving.scripts.stands.s3 import Fault, Faults, Request

SPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
PAGE = 3
"""Keys of a listing, so that every test follows pages."""


@dataclass
class Object:
    body: bytes
    meta: dict[str, str] = field(default_factory=dict)

    @property
    def etag(self) -> str:
        return f'"{zlib.crc32(self.body):032x}"'


@dataclass
class Upload:
    key: str
    meta: dict[str, str]
    parts: dict[int, tuple[str, str, bytes]] = field(default_factory=dict)
    """ETag, checksum and content by number."""


class WritableS3:
    """One bucket. `keep=False` takes bodies and forgets them, for benchmarks."""

    def __init__(self, name: str, *, keep: bool = True) -> None:
        self.name, self.keep = name, keep
        self.objects: dict[str, Object] = {}
        self.uploads: dict[str, Upload] = {}
        self.requests: list[Request] = []
        self.faults: Faults = lambda _: None
        """Asked before each request is looked at; of a fault, status, code and headers count."""
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
        self._server.stop()

    def writes(self) -> list[str]:
        """Return path and query of each PUT, in the order in which they came."""
        return [request.target for request in self.requests if request.method == "PUT"]

    def unconditional(self) -> list[str]:
        """Return the keys of writes that would have replaced an object."""
        made = {("PUT", False), ("POST", True)}  # in one request, or of the parts that came before
        return [
            request.key
            for request in self.requests
            if (request.method, "uploadId" in request.query) in made
            and "uploads" not in request.query
            and request.headers.get("if-none-match") != "*"
        ]

    def serve(self, answering: Quiet) -> None:
        body = bytearray(int(answering.headers.get("Content-Length", 0)))
        view = memoryview(body)
        while len(view):
            count = answering.rfile.readinto(view)
            if not count:
                answering.close_connection = True  # the client died: S3 stores nothing of it
                return
            view = view[count:]
        request = Request.of(answering.command, answering.path, dict(answering.headers))
        self.requests.append(request)
        self.last = bytes(body) if self.keep else b""
        crc = request.headers.get("x-amz-checksum-crc32")
        if fault := self.faults(request):
            self._refuse(answering, fault)
        elif request.bucket != self.name:
            self._refuse(answering, Fault(404, "NoSuchBucket"))
        elif crc and crc != base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode():
            self._refuse(answering, Fault(400, "BadDigest"))
        else:
            match request.method:
                case "PUT":
                    self._put(answering, request, body)
                case "POST":
                    self._post(answering, request, body)
                case "DELETE":
                    self._delete(answering, request)
                case _:
                    self._get(answering, request)

    def _refuse(self, answering: Quiet, fault: Fault) -> None:
        answering.answer(fault.status, f"<Error><Code>{fault.code}</Code></Error>".encode(), **fault.headers)

    def _get(self, answering: Quiet, request: Request) -> None:
        if "uploads" in request.query:
            rows = "".join(
                f"<Upload><Key>{escape(upload.key)}</Key><UploadId>{name}</UploadId></Upload>"
                for name, upload in list(self.uploads.items())
                if upload.key.startswith(request.query["prefix"])
            )
            self._xml(answering, "ListMultipartUploadsResult", f"<IsTruncated>false</IsTruncated>{rows}")
        elif request.lists:
            self._list(answering, request.query)
        elif (found := self.objects.get(request.key)) is None:
            self._refuse(answering, Fault(404, "NoSuchKey"))
        else:
            headers = {"ETag": found.etag, **{f"x-amz-meta-{name}": value for name, value in found.meta.items()}}
            body = memoryview(found.body)
            if span := re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("range", "")):
                first, last = int(span[1]), int(span[2])
                headers["Content-Range"] = f"bytes {first}-{last}/{len(body)}"
                answering.answer(206, body[first : last + 1], **headers)
            else:
                answering.answer(200, body, **headers)

    def _list(self, answering: Quiet, query: dict[str, str]) -> None:
        after = query.get("continuation-token", "")
        keys = sorted(key for key in list(self.objects) if key.startswith(query["prefix"]) and key > after)
        page = keys[:PAGE]
        rows = "".join(
            f"<Contents><Key>{escape(key)}</Key><ETag>{escape(self.objects[key].etag)}</ETag>"
            f"<Size>{len(self.objects[key].body)}</Size></Contents>"
            for key in page
        )
        more = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if len(keys) > len(page) else ""
        self._xml(answering, "ListBucketResult", rows + more)

    def _put(self, answering: Quiet, request: Request, body: bytearray) -> None:
        etag = f'"{hashlib.md5(body[:64], usedforsecurity=False).hexdigest()}"'
        upload = request.query.get("uploadId")
        with self.lock:
            if upload is not None:
                if upload not in self.uploads:
                    return self._refuse(answering, Fault(404, "NoSuchUpload"))
                kept = bytes(body) if self.keep else b""
                part = etag, request.headers["x-amz-checksum-crc32"], kept
                self.uploads[upload].parts[int(request.query["partNumber"])] = part
            elif request.headers.get("if-none-match") == "*" and request.key in self.objects:
                return self._refuse(answering, Fault(412, "PreconditionFailed"))
            else:
                self.objects[request.key] = Object(bytes(body), _meta(request))
        return answering.answer(200, ETag=etag)

    def _post(self, answering: Quiet, request: Request, body: bytearray) -> None:
        if "uploads" in request.query:
            name = f"upload-{len(self.requests)}-{len(self.uploads)}"
            self.uploads[name] = Upload(request.key, _meta(request))
            return self._xml(answering, "InitiateMultipartUploadResult", f"<UploadId>{name}</UploadId>")
        with self.lock:
            upload = self.uploads.get(request.query["uploadId"])
            if upload is None:
                return self._refuse(answering, Fault(404, "NoSuchUpload"))
            asked = re.findall(
                r"<PartNumber>(\d+)</PartNumber><ETag>(.*?)</ETag><ChecksumCRC32>(.*?)</ChecksumCRC32>", body.decode()
            )
            stored = [(str(number), escape(etag), crc) for number, (etag, crc, _) in sorted(upload.parts.items())]
            whole = b"".join(part[2] for _, part in sorted(upload.parts.items()))
            if request.headers.get("if-none-match") == "*" and request.key in self.objects:
                return self._refuse(answering, Fault(412, "PreconditionFailed"))
            if asked != stored or (self.keep and len(whole) != int(request.headers["x-amz-mp-object-size"])):
                return self._refuse(answering, Fault(400, "InvalidPart"))
            self.objects[request.key] = Object(whole, upload.meta)
            del self.uploads[request.query["uploadId"]]
        return self._xml(answering, "CompleteMultipartUploadResult", f"<Key>{escape(request.key)}</Key>")

    def _delete(self, answering: Quiet, request: Request) -> None:
        with self.lock:
            found = self.uploads.pop(request.query.get("uploadId", ""), None)
        answering.answer(204 if found else 404)

    def _xml(self, answering: Quiet, name: str, content: str) -> None:
        answering.answer(200, f'<?xml version="1.0"?><{name} xmlns="{SPACE}">{content}</{name}>'.encode())


def _meta(request: Request) -> dict[str, str]:
    return {name[11:]: value for name, value in request.headers.items() if name.startswith("x-amz-meta-")}
