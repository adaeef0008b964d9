"""Up, a second preview, refresh and destroy on the real engine: the providers' side of what comes next.

There is no command for it yet; this proves the seam that the commands will use.
"""

from pulumi.automation import OpType

from rehearsal.engine import prepared
from rehearsal.providers.store import InProcessStore
from rehearsal.toolchain import pulumi_cli
from tests.rehearsal.conftest import PROGRAM


def test_what_comes_up_stays_the_same_and_goes_down_without_a_rest():
    store = InProcessStore()
    with prepared("dev", project=PROGRAM, cli=pulumi_cli.find(), store=store) as rehearsal:
        outputs = rehearsal.stack.up().outputs
        assert outputs["vpc"].value.startswith("vpc-")
        assert outputs["securityGroup"].value.startswith("sg-")
        assert outputs["token"].secret
        created = rehearsal.stack.preview().change_summary
        assert set(created) == {OpType.SAME}
        assert rehearsal.stack.refresh().summary.resource_changes == {"same": created[OpType.SAME]}
        assert len(store._outputs) == 12
        rehearsal.stack.destroy()
    assert store._outputs == {}
