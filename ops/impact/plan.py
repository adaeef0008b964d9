"""A plan of `python -m rehearsal --json`, as this or another revision of the program wrote it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ops.failures import UnclearError

KUBERNETES = "kubernetes:"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"


@dataclass(frozen=True, kw_only=True)
class Resource:
    """One resource of a plan."""

    urn: str
    type: str
    """Type token, as `aws:ec2/vpc:Vpc`."""
    name: str
    """Logical name."""
    parent: str
    """URN; empty for the stack."""
    action: str
    """create, update, replace, delete or same."""
    changed: Mapping[str, str]
    """Path of a property to `add`, `update` or `delete`, with `-replace` where that forces a replacement."""
    custom: bool
    """False for components and the stack."""
    protect: bool
    retained: bool
    """It stays where it is when the stack gives it up."""
    inputs: Mapping[str, Any]
    property_dependencies: Mapping[str, tuple[str, ...]]
    """Name of an input to the URNs that its value comes from."""

    @property
    def api_name(self) -> str:
        """Name of a Kubernetes object."""
        return str((self.inputs.get("metadata") or {}).get("name", ""))

    @property
    def spec(self) -> Mapping[str, Any]:
        """Of a Kubernetes object."""
        found: Mapping[str, Any] = self.inputs.get("spec") or {}
        return found


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What stands, or will stand: all resources and outputs, and what the program warned of."""

    unknown: str
    """Stands for a value, or a part of a text, that only `up` will know."""
    resources: tuple[Resource, ...]
    outputs: Mapping[str, Any]
    warnings: tuple[str, ...]
    by_urn: Mapping[str, Resource] = field(repr=False)

    def of(self, token: str) -> Iterator[Resource]:
        """Yield what stands of a type; what the plan deletes does not."""
        return (it for it in self.resources if it.type == token and it.action != "delete")

    def objects(self, token: str) -> dict[str, Resource]:
        """Return the Kubernetes objects of a type that stand, by their name in the API."""
        return {it.api_name: it for it in self.of(token)}

    def known(self, value: object) -> bool:
        """Whether nothing in a value has to wait for `up`."""
        if isinstance(value, Mapping):
            return all(self.known(it) for it in value.values())
        if isinstance(value, list):
            return all(self.known(it) for it in value)
        return not (isinstance(value, str) and self.unknown in value)

    @property
    def servers(self) -> Mapping[str, Mapping[str, Any]]:
        """The output `servers`."""
        return _mapping(self.outputs.get("servers"))

    @property
    def pools(self) -> Mapping[str, Mapping[str, Any]]:
        """The output `gpuPools`."""
        return _mapping(self.outputs.get("gpuPools"))


def read(document: Any, title: str) -> Plan:
    """Return the plan that a JSON document holds.

    Args:
        document: what `--json` wrote.
        title: of the revision that wrote it, for the message.

    Raises:
        UnclearError: it has another form, as that of an older rehearsal.
    """
    try:
        resources = tuple(_resource(it) for it in document["resources"])
        return Plan(
            unknown=document["unknown"],
            resources=resources,
            outputs=_mapping(document["outputs"]),
            warnings=tuple(it["text"] for it in document["messages"] if it["severity"] == "warning"),
            by_urn={it.urn: it for it in resources},
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise UnclearError(f"{title}: its rehearsal writes another plan than is read here: {error}") from None


def _resource(found: Mapping[str, Any]) -> Resource:
    return Resource(
        urn=found["urn"],
        type=found["type"],
        name=found["name"],
        parent=found["parent"] or "",
        action=found["action"],
        changed=found["changed"],
        custom=found["custom"],
        protect=found["protect"],
        retained=found["retainOnDelete"],
        inputs=found["inputs"] or {},
        property_dependencies={key: tuple(urns) for key, urns in found["propertyDependencies"].items()},
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
