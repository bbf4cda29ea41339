import pytest

from eks_ray_train.capacity_probe.asset.gpu_capacity.quota import Quota, counts
from eks_ray_train.instance_types import INSTANCE_TYPES

GPU = INSTANCE_TYPES["g6.12xlarge"].quota_families
STANDARD = INSTANCE_TYPES["m7i.xlarge"].quota_families


@pytest.mark.parametrize("name", ["g4dn.xlarge", "g6.12xlarge", "g6e.48xlarge", "gr6.4xlarge", "vt1.3xlarge"])
def test_the_gpu_quota_covers(name: str) -> None:
    assert counts(name, GPU)
    assert not counts(name, STANDARD)


@pytest.mark.parametrize("name", ["m7i.xlarge", "c6gn.large", "im4gn.large", "is4gen.large", "t3.micro", "z1d.large"])
def test_the_standard_quota_covers(name: str) -> None:
    assert counts(name, STANDARD)
    assert not counts(name, GPU)


@pytest.mark.parametrize(
    "name",
    ["inf2.xlarge", "trn1.2xlarge", "mac2.metal", "dl1.24xlarge", "hpc7g.4xlarge", "p5.48xlarge", "u-6tb1.metal"],
)
def test_families_with_their_own_quota_count_against_no_other(name: str) -> None:
    assert not counts(name, STANDARD)
    assert not counts(name, GPU)


def test_free_is_never_negative() -> None:
    assert Quota(code="L-DB2E81BA", limit=96, used=48).free == 48
    assert Quota(code="L-DB2E81BA", limit=0, used=48).free == 0
