"""The Kubernetes API as far as an agent sees it: one pod, over TLS, for whoever shows the pod's token."""

import contextlib
import datetime
import ipaddress
import json
import ssl
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from serving.front import AWAKE_LABEL, LOOPBACK, WANTED_ANNOTATION
from tests.engine_check.pod.rendered import NAMESPACE, POD
from tests.serving.scripts.stands.loopback import Quiet, Server

PATH = f"/api/v1/namespaces/{NAMESPACE}/pods/{POD}"
TOKEN = "token-of-the-pod"  # noqa: S105 - of the check


class Cluster:
    """The API server."""

    def __init__(self, folder: Path) -> None:
        self.labels = {AWAKE_LABEL: "true"}
        self.annotations: dict[str, str] = {}
        self.refused: list[str] = []
        """What was asked beside reading this pod and patching its labels."""
        self._certificate, key = _certificate(), folder / "key.pem"
        key.parent.mkdir(parents=True, exist_ok=True)
        key.write_bytes(b"".join(self._certificate))
        cluster = self

        class Handler(Quiet):
            def handle(self) -> None:
                with contextlib.suppress(OSError):  # an agent that ends in the middle of a question
                    super().handle()

            def do_GET(self) -> None:
                self._answer({})

            def do_PATCH(self) -> None:
                self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def _answer(self, patch: Any) -> None:
                right = self.path == PATH and self.headers["Authorization"] == f"Bearer {TOKEN}"
                if not right or patch not in (
                    {},
                    *({"metadata": {"labels": {AWAKE_LABEL: v}}} for v in ("true", None)),
                ):
                    cluster.refused.append(f"{self.command} {self.path} {patch}")
                    self.answer(403, b"{}")
                    return
                labels = {**cluster.labels, **patch.get("metadata", {}).get("labels", {})}
                cluster.labels = {name: value for name, value in labels.items() if value is not None}
                metadata = {"labels": cluster.labels, "annotations": cluster.annotations}
                self.answer(200, json.dumps({"metadata": metadata}).encode())

        self._server = Server((LOOPBACK, 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._server.start()

    @property
    def environment(self) -> dict[str, str]:
        """What kubelet tells every container."""
        return {"KUBERNETES_SERVICE_HOST": LOOPBACK, "KUBERNETES_SERVICE_PORT": str(self._server.server_port)}

    def project(self, folder: Path) -> None:
        """Put into a volume what the projected token of the pod is."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "token").write_text(TOKEN)
        (folder / "ca.crt").write_bytes(self._certificate[0])

    def want(self, state: str) -> None:
        """Annotate the pod."""
        self.annotations = {WANTED_ANNOTATION: state}

    def close(self) -> None:
        """End it."""
        self._server.stop()


def _certificate() -> tuple[bytes, bytes]:
    """Return a certificate that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubernetes")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(LOOPBACK))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return made.public_bytes(serialization.Encoding.PEM), private
