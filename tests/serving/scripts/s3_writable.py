"""An S3 on loopback that takes writes: single and in parts, checksums, `If-None-Match`, lists, ranges, faults.

As in S3, nothing is an object before it is whole, and of two conditional writes one wins.
"""

import base64
import re
import threading
import urllib.parse
import zlib
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

SPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
Fault = Callable[[str, str], tuple[int, str] | None]
"""From method and path with query to (status, code)."""


class Bucket:
    """One bucket, whatever its name."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.requests: list[tuple[str, str]] = []
        self.fault: Fault = lambda _method, _target: None
        self.lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"bucket": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def puts(self) -> list[str]:
        return [target for method, target in self.requests if method == "PUT"]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    bucket: Bucket

    def do_any(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True  # the client died: S3 stores nothing of it
            return
        bucket = self.bucket
        bucket.requests.append((self.command, self.path))
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        key = urllib.parse.unquote(url.path)[1:].partition("/")[2]
        crc = self.headers.get("x-amz-checksum-crc32")
        if fault := bucket.fault(self.command, self.path):
            self.fail(*fault)
        elif crc and crc != base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode():
            self.fail(400, "BadDigest")
        else:
            with bucket.lock:
                getattr(self, f"take_{self.command.lower()}")(key, query, body)

    do_GET = do_PUT = do_POST = do_DELETE = do_any  # noqa: N815 - http.server's names

    def take_get(self, key: str, query: dict[str, str], _body: bytes) -> None:
        objects = self.bucket.objects
        if not key:
            rows = "".join(
                f"<Contents><Key>{escape(name)}</Key><Size>{len(content)}</Size></Contents>"
                for name, content in sorted(objects.items())
                if name.startswith(query["prefix"])
            )
            self.xml("ListBucketResult", rows)
        elif key not in objects:
            self.fail(404, "NoSuchKey")
        elif span := re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", "")):
            first, last, total = int(span[1]), int(span[2]), len(objects[key])
            self.answer(206, objects[key][first : last + 1], **{"Content-Range": f"bytes {first}-{last}/{total}"})
        else:
            self.answer(200, objects[key])

    def take_put(self, key: str, query: dict[str, str], body: bytes) -> None:
        if "uploadId" in query:
            if query["uploadId"] not in self.bucket.uploads:
                return self.fail(404, "NoSuchUpload")
            self.bucket.uploads[query["uploadId"]][int(query["partNumber"])] = body
        elif self.headers.get("If-None-Match") == "*" and key in self.bucket.objects:
            return self.fail(412, "PreconditionFailed")
        else:
            self.bucket.objects[key] = body
        return self.answer(200, ETag=f'"{zlib.crc32(body)}"')

    def take_post(self, key: str, query: dict[str, str], body: bytes) -> None:
        uploads = self.bucket.uploads
        if "uploads" in query:
            name = f"upload-{len(self.bucket.requests)}"
            uploads[name] = {}
            return self.xml("InitiateMultipartUploadResult", f"<UploadId>{name}</UploadId>")
        parts = uploads.pop(query["uploadId"])
        if re.findall(r"<PartNumber>(\d+)<", body.decode()) != [str(number) for number in sorted(parts)]:
            return self.fail(400, "InvalidPart")
        self.bucket.objects[key] = b"".join(content for _, content in sorted(parts.items()))
        return self.xml("CompleteMultipartUploadResult", f"<Key>{escape(key)}</Key>")

    def take_delete(self, _key: str, query: dict[str, str], _body: bytes) -> None:
        self.answer(204 if self.bucket.uploads.pop(query.get("uploadId", ""), None) is not None else 404)

    def fail(self, status: int, code: str) -> None:
        self.answer(status, f"<Error><Code>{code}</Code></Error>".encode())

    def xml(self, name: str, content: str) -> None:
        self.answer(200, f'<?xml version="1.0"?><{name} xmlns="{SPACE}">{content}</{name}>'.encode())

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:  # a killed client
            self.close_connection = True
