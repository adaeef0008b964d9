"""Which changes replace an AWS resource, type by type; the rules are in `rows/`.

Sources, in brackets behind each line:
  cfn     the CloudFormation schema (`create_only.json`)
  tf      the schema in internal/service/ of hashicorp/terraform-provider-aws, read for this table
          (v5 and v6 versions; the provider behind pulumi-aws 7.51 may be newer)
  pulumi  provider/resources.go of pulumi/pulumi-aws
  memory  terraform-provider-aws source, from memory, unproven

Not modelled: a dedicated VPC turned to default tenancy updates in place; `privateDnsEnabled` of a
Gateway endpoint replaces; a subnet's `ipv6CidrBlock` replaces when it assigned such addresses [tf].
"""

from __future__ import annotations

from rehearsal.providers.aws.change.rows import cluster, events, identity, network, secrets, storage
from rehearsal.providers.aws.change.rules import Rule

RULES: dict[str, Rule] = network.RULES | cluster.RULES | identity.RULES | storage.RULES | secrets.RULES | events.RULES
"""Type token to rule; a test holds it against the kinds of the offline provider."""
