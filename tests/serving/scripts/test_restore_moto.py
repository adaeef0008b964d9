"""One round trip against a server that was not written for this program. Needs `moto_server` on PATH."""

import http.client
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.scripts.rig import Rig, archive, content, publish

ALL = content(60, 200_000)
MOTO = shutil.which("moto_server")


@pytest.fixture
def moto() -> Iterator[str]:
    if not MOTO:
        pytest.skip("moto_server is not on PATH")
    with subprocess.Popen([MOTO, "-p", "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        yield next(line.split("//")[1].split()[0] for line in server.stdout if "Running on http" in line)
        server.terminate()


def put(host: str, path: str, body: bytes = b"") -> None:
    connection = http.client.HTTPConnection(host)
    # moto reads the region from the signature's scope, and verifies nothing
    scope = "AWS4-HMAC-SHA256 Credential=key/20261129/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
    connection.request("PUT", path, body, {"authorization": scope})
    assert connection.getresponse().status == 200
    connection.close()


def test_what_another_client_uploads_is_restored(moto: str, tmp_path: Path):
    manifest = publish(tmp_path / "up", archive(ALL), len(ALL))
    put(moto, "/bucket")
    rig = Rig(bucket=tmp_path / "unused", node=tmp_path / "node", url=f"http://{moto}")
    assert rig.run().outcome == "miss"
    for key in (manifest.archive_key, manifest.folder.manifest_key):
        put(moto, f"/bucket/{key}", (tmp_path / "up" / key).read_bytes())
    assert rig.run().outcome == "hit"
    assert rig.tree() == ALL
