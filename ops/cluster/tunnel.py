"""A pod's port, through the API server and kubelet: what `kubectl port-forward` does, for HTTP and with no kubectl."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException

from kubernetes.stream.ws_client import V4_CHANNEL_PROTOCOL, PortForward

from ops.cluster.api import Cluster, one_line
from ops.failures import UnclearError


class CutError(UnclearError):
    """The pod's port does not answer, or no longer: nobody listens, the pod or its node is gone."""


@contextmanager
def connection(
    cluster: Cluster, namespace: str, pod: str, port: int, *, timeout: float = 10.0
) -> Iterator[HTTPConnection]:
    """Yield an HTTP connection to a port of a pod. Also to one on loopback: kubelet dials from inside the pod.

    It takes the verbs get and create of `pods/portforward`.

    Args:
        cluster: the stack's.
        namespace: of the pod.
        pod: its name.
        port: its number.
        timeout: seconds that the pod may be silent.

    Raises:
        RefusedError: there is no such pod, or it does not run.
        CutError: what OSError or HTTPException came of the connection, also inside the `with`.
        UnclearError: nobody can tell: no rights, no answer.
    """
    opened = _Connection(cluster, namespace, pod, port, timeout)
    try:
        opened.connect()
        yield opened
    except (OSError, HTTPException) as error:
        raise CutError(f"pod {namespace}/{pod}, port {port}: {opened.why() or _words(error, timeout)}") from None
    finally:
        opened.close()


class _Connection(HTTPConnection):
    """Connects through a new stream, also when `http.client` does so by itself after an answer that ended the last."""

    def __init__(self, cluster: Cluster, namespace: str, pod: str, port: int, timeout: float) -> None:
        super().__init__("localhost", port, timeout=timeout)
        self._cluster, self._path = cluster, f"/api/v1/namespaces/{namespace}/pods/{pod}/portforward"
        self._forward: _Forward | None = None

    def connect(self) -> None:
        """Open the stream."""
        stream = self._cluster.websocket(self._path, V4_CHANNEL_PROTOCOL, ports=str(self.port))
        self._forward = _Forward(stream, [self.port])
        self.sock = self._forward.socket(self.port)
        self.sock.settimeout(self.timeout)

    def why(self) -> str:
        """Return what kubelet, or the stream, said of its end. Empty: nothing."""
        if self._forward is None:
            return ""
        return one_line(self._forward.error(self.port) or self._forward.failure or "")


class _Forward(PortForward):  # type: ignore[misc]  # the client has no types
    """The client's, whose thread would end with a traceback on the terminal and leave its reader to wait."""

    failure: Exception | None = None

    def _proxy(self) -> None:
        try:
            super()._proxy()
        except Exception as failure:
            self.failure = failure
        finally:
            for port in self.local_ports.values():
                port.python.close()


def _words(error: Exception, timeout: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer for {timeout:g} s"
    return f"the connection ended: {one_line(error) or type(error).__name__}"
