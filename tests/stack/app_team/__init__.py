import yaml

from tests.harness import ROOT

APP = ROOT / "examples" / "app-team"
CONFIG = yaml.safe_load((APP / "Pulumi.dev.yaml").read_text())["config"]
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
