"""Launch templates (`aws.ec2`)."""

from __future__ import annotations

from rehearsal.providers.aws.common import generated
from rehearsal.providers.change.unique import Unique
from rehearsal.providers.naming import AutoName
from rehearsal.providers.package import Birth, Kind, Made, Revision
from rehearsal.providers.values import UNKNOWN, Properties


def _launch_template(birth: Birth) -> Made:
    made = generated("lt", "ec2", "launch-template")(birth)
    return Made(id=made.id, outputs={**made.outputs, "latestVersion": 1, "defaultVersion": 1})


def _new_version(revision: Revision) -> Properties:
    """As CustomizeDiff and Update in ec2/ec2_launch_template.go of terraform-provider-aws.

    A preview expects a new version from a change of tags too, and the update makes none.
    """
    bookkeeping = {"name", "defaultVersion", "updateDefaultVersion"}
    if revision.preview:
        return {"latestVersion": UNKNOWN} if revision.changed - bookkeeping - {"description"} else {}
    if revision.changed - bookkeeping - {"tags", "tagsAll"}:
        return {"latestVersion": revision.outputs["latestVersion"] + 1}
    return {}


KINDS = {
    "aws:ec2/launchTemplate:LaunchTemplate": Kind(
        make=_launch_template,
        tagged=True,
        auto_name=AutoName(property="name", limit=125),
        unique=(Unique(error="InvalidLaunchTemplateName.AlreadyExistsException", same=("name",)),),
        revise=_new_version,
    ),
}
