"""The Pulumi engine on a scratch copy of a stack, with the offline providers attached."""
