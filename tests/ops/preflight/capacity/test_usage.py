"""What of the account's quotas is in use: by everybody but the stack itself."""

from ops.preflight.capacity import quotas
from tests.ops.preflight.capacity.test_quotas import G_SPOT, STANDARD, G, by_code
from tests.ops.preflight.conftest import instance


def test_the_stacks_own_nodes_are_in_its_need_and_not_counted_twice(asked, cloud):
    own, other = {"kubernetes.io/cluster/inference-dev": "owned"}, {"kubernetes.io/cluster/inference-prod": "owned"}
    cloud.on(
        "DescribeInstances",
        {
            "Reservations": [
                instance("g7e.4xlarge", lifecycle="spot", tags=own, count=2),
                instance("g6.xlarge", lifecycle="spot", tags=other, count=3),
                instance("p5.48xlarge", lifecycle="spot"),
                instance("g6.xlarge"),
                instance("p5.48xlarge", lifecycle="capacity-block"),
                instance("m7i.large", count=5),
            ]
        },
    )
    used = {it.figures["code"]: it.figures["inUse"] for it in quotas.check(asked())}
    assert used == {G_SPOT: 12, G: 4, STANDARD: 10}


def test_own_nodes_in_a_reservation_count_for_its_pool_needs_nothing(asked, cloud):
    """Full, the reservation holds no unused room: without its nodes nobody would count them."""

    def reserved(settings):
        pools = settings["gpuPools"]
        pools["held"] = {**pools["rtx-pro-6000"], "capacity": {"reserved": {"ids": ["cr-0123456789abcdef0"]}}}

    own = instance("g7e.4xlarge", tags={"kubernetes.io/cluster/inference-dev": "owned"})
    inside = {"Instances": [{**own["Instances"][0], "CapacityReservationId": "cr-0123456789abcdef0"}]}
    cloud.on("DescribeInstances", {"Reservations": [own, inside]})
    used = {it.figures["code"]: it.figures["inUse"] for it in quotas.check(asked(reserved))}
    assert used == {G_SPOT: 0, G: 16, STANDARD: 0}


def test_a_type_that_ec2_describes_no_more_counts_by_its_own_cores(asked, cloud):
    old = instance("m1.small")
    old["Instances"][0]["CpuOptions"] = {"CoreCount": 2, "ThreadsPerCore": 2}
    cloud.on("DescribeInstances", {"Reservations": [old]})
    assert by_code(quotas.check(asked()))[STANDARD].figures["inUse"] == 4


def test_what_a_reservation_holds_unused_is_in_use(asked, cloud):
    held = {"InstanceType": "g6.xlarge", "AvailableInstanceCount": 2, "ReservationType": "default"}
    full = {"InstanceType": "g6.xlarge", "AvailableInstanceCount": 0, "ReservationType": "default"}
    block = {"InstanceType": "g6.xlarge", "AvailableInstanceCount": 1, "ReservationType": "capacity-block"}
    cloud.on(
        "DescribeCapacityReservations",
        {"CapacityReservations": [held, full], "NextToken": "2"},
        {"CapacityReservations": [block]},
    )
    assert {it.figures["code"]: it.figures["inUse"] for it in quotas.check(asked())} == {G_SPOT: 0, G: 8, STANDARD: 0}
    assert len(cloud.times("DescribeCapacityReservations")) == 2


def test_usage_against_moto_is_of_running_instances_of_all_pages(real, aws):
    ec2 = aws("ec2")
    image = ec2.describe_images()["Images"][0]["ImageId"]
    ec2.run_instances(ImageId=image, InstanceType="g6.xlarge", MinCount=2, MaxCount=2)
    stopped = ec2.run_instances(ImageId=image, InstanceType="g6.xlarge", MinCount=1, MaxCount=1)["Instances"]
    ec2.stop_instances(InstanceIds=[it["InstanceId"] for it in stopped])
    ec2.run_instances(
        ImageId=image,
        InstanceType="m5.large",
        MinCount=1,
        MaxCount=1,
        TagSpecifications=[
            {
                "ResourceType": "instance",
                "Tags": [{"Key": "kubernetes.io/cluster/inference-dev", "Value": "owned"}],
            }
        ],
    )
    client = real().aws.client("ec2")
    running = quotas.instances(client)
    assert sorted(it["InstanceType"] for it in running) == ["g6.xlarge", "g6.xlarge", "m5.large"]
    vcpus = quotas.vcpus_of(client, {"g6.xlarge", "m5.large", "no.such"})
    assert vcpus == {"g6.xlarge": 4, "m5.large": 2}
    assert quotas.in_use(running, [], vcpus, quotas.Own(tag="kubernetes.io/cluster/inference-dev", reserved=())) == {
        G: 8
    }
