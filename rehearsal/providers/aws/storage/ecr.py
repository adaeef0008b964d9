"""Registries: pull-through rules, templates, repositories (`aws.ecr`).

Repositories that a pull through the cache would make are not simulated: no node pulls here.
"""

from __future__ import annotations

from rehearsal.providers.aws.common import account, arn, dns_suffix, partition, region
from rehearsal.providers.change.unique import Unique
from rehearsal.providers.naming import AutoName
from rehearsal.providers.package import Birth, Kind, Made


def _repository(birth: Birth) -> Made:
    name, where = birth.inputs["name"], region(birth)
    return Made(
        id=name,
        outputs={
            "arn": arn(birth, "ecr", f"repository/{name}"),
            "registryId": account(birth.instance),
            "repositoryUrl": f"{account(birth.instance)}.dkr.ecr.{where}.{dns_suffix(partition(where))}/{name}",
        },
    )


def _rule(birth: Birth) -> Made:
    return Made(id=birth.inputs["ecrRepositoryPrefix"], outputs={"registryId": account(birth.instance)})


def _template(birth: Birth) -> Made:
    return Made(id=birth.inputs["prefix"], outputs={"registryId": account(birth.instance)})


def _policy(birth: Birth) -> Made:
    return Made(id=birth.inputs["repository"], outputs={"registryId": account(birth.instance)})


KINDS = {
    "aws:ecr/repository:Repository": Kind(
        make=_repository,
        tagged=True,
        auto_name=AutoName(property="name", limit=256, lower=True),
        unique=(Unique(error="RepositoryAlreadyExistsException", same=("name",)),),
    ),
    # PutLifecyclePolicy overwrites what is there. So does a replacement with the same id, and then the removal of the
    # old one takes the new one away.
    "aws:ecr/lifecyclePolicy:LifecyclePolicy": Kind(make=_policy),
    "aws:ecr/pullThroughCacheRule:PullThroughCacheRule": Kind(
        make=_rule,
        unique=(Unique(error="PullThroughCacheRuleAlreadyExistsException", same=("ecrRepositoryPrefix",)),),
    ),
    "aws:ecr/repositoryCreationTemplate:RepositoryCreationTemplate": Kind(
        make=_template, unique=(Unique(error="TemplateAlreadyExistsException", same=("prefix",)),)
    ),
}
