"""An API server on loopback that knows the scale of one Deployment, with faults; its authority is made on the spot."""

import datetime
import ipaddress
import json
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.serving.scripts.stands.loopback import Quiet, Server

PATH = "/apis/apps/v1/namespaces/inference/deployments/gemma/scale"
TOKEN = "t0ken-of-the-pod"  # noqa: S105 - made up

Fault = tuple[int, dict[str, Any] | bytes] | None


def status(code: int, message: str) -> tuple[int, dict[str, Any]]:
    return code, {"kind": "Status", "status": "Failure", "message": message, "code": code}


def certificate(folder: Path) -> Path:
    """Write a self-signed certificate without key identifiers, as the authority of an EKS cluster is."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubernetes")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    folder.mkdir(exist_ok=True)
    (folder / "key.pem").write_bytes(text)
    path = folder / "ca.crt"
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return path


class Api:
    """Everything that a test changes is an attribute."""

    def __init__(self, folder: Path) -> None:
        self.replicas = 1
        self.token = TOKEN
        self.fault: Callable[[int, str], Fault] = lambda _count, _method: None
        """Given which request it is, from 1, and its method: what is answered instead."""
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.authority = certificate(folder)
        api = self

        class Handler(Quiet):
            def do_GET(self) -> None:
                api.answer(self)

            def do_PATCH(self) -> None:
                api.answer(self)

        self._server = Server(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.authority, folder / "key.pem")
        # on the connection's own thread: one that speaks no TLS must not stop the others
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._server.start()
        self.port = self._server.server_port

    def answer(self, call: Quiet) -> None:
        body = call.rfile.read(int(call.headers.get("Content-Length") or 0))
        path, _, query = call.path.partition("?")
        self.requests.append((call.command, query, dict(call.headers), body))
        found = self.fault(len(self.requests), call.command) or self._scale(call, path, body)
        code, content = found
        call.answer(code, content if isinstance(content, bytes) else json.dumps(content).encode())

    def _scale(self, call: Quiet, path: str, body: bytes) -> tuple[int, dict[str, Any]]:
        if call.headers.get("Authorization") != f"Bearer {self.token}":
            return status(401, "Unauthorized")
        if path != PATH:
            return status(404, 'deployments.apps "other" not found')
        if call.command == "PATCH":
            self.replicas = json.loads(body)["spec"]["replicas"]
        # as the API server: a field of its zero value is left out
        spec = {"replicas": self.replicas} if self.replicas else {}
        return 200, {"kind": "Scale", "apiVersion": "autoscaling/v1", "spec": spec, "status": {"replicas": 7}}

    def close(self) -> None:
        self._server.stop()
