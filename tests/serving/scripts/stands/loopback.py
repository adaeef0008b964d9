"""HTTP servers on loopback for stand-ins: quiet, and stopped at once."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Quiet(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        pass

    def answer(self, status: int, body: bytes | memoryview = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:  # a killed client
            self.close_connection = True


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def start(self) -> str:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return f"http://{self.server_address[0]!s}:{self.server_port}"

    def stop(self) -> None:
        self.shutdown()
        self.server_close()
