"""Keys, and what is secret."""

from rehearsal.providers.aws.secrets import kms, secretsmanager

KINDS = kms.KINDS | secretsmanager.KINDS
