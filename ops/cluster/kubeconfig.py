"""A kubeconfig of somebody's: refused in one line where the client would warn, guess an address, or raise anything."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from kubernetes import config
from kubernetes.client import ApiClient
from kubernetes.config.config_exception import ConfigException

from ops.cluster.api import one_line
from ops.failures import UsageError
from ops.terminal import echo


def client_of(path: Path) -> ApiClient:
    """Return a client of the current context.

    Raises:
        UsageError: the file is no kubeconfig, or has none that works.
    """
    try:
        _refuse_unusable(yaml.safe_load(path.read_bytes()))
        return config.new_client_from_config(str(path), persist_config=False)
    except yaml.YAMLError as error:
        # the rest of its text repeats lines of the file, so perhaps a token
        raise UsageError(
            f"--kubeconfig {echo(str(path))}: not YAML: {one_line(getattr(error, 'problem', error))}"
        ) from None
    except (ConfigException, OSError, ValueError) as error:
        raise UsageError(f"--kubeconfig {echo(str(path))}: {one_line(error)}") from None
    except (TypeError, AttributeError, KeyError, RecursionError) as error:
        raise UsageError(f"--kubeconfig {echo(str(path))}: not of a kubeconfig's form: {one_line(error)}") from None


def _refuse_unusable(whole: Any) -> None:
    if not isinstance(whole, Mapping):
        raise ConfigException("not a mapping; expected a kubeconfig")
    context = _named(whole, "context", whole.get("current-context"), "current-context")
    cluster = _named(whole, "cluster", context.get("cluster"), f"contexts.{whole['current-context']}.cluster")
    server = cluster.get("server")
    if not isinstance(server, str) or not server.startswith(("https://", "http://")):
        raise ConfigException(f"clusters.{context['cluster']}.server: no address; expected https://<host>:<port>")
    if "user" in context:
        user = _named(whole, "user", context["user"], f"contexts.{whole['current-context']}.user")
        if "auth-provider" in user:
            raise ConfigException(
                f"users.{context['user']}.auth-provider: not used here; expected exec, a token or a certificate"
            )


def _named(whole: Mapping[str, Any], kind: str, name: object, asked_by: str) -> Mapping[str, Any]:
    """Return what a list of the file holds under a name."""
    if name is None:
        raise ConfigException(f"{asked_by}: missing")
    entries = whole.get(f"{kind}s")
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, Mapping) and entry.get("name") == name and isinstance(entry.get(kind), Mapping):
            found: Mapping[str, Any] = entry[kind]
            return found
    raise ConfigException(f"{asked_by}: {echo(str(name))}: {kind}s has none of this name")
