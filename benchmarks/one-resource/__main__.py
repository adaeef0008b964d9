"""One bucket."""

import pulumi
import pulumi_aws as aws

provider = aws.Provider("aws", region="us-west-2")
aws.s3.Bucket("one", opts=pulumi.ResourceOptions(provider=provider))
