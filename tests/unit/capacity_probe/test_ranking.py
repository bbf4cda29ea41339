import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eks_ray_train.capacity_probe.asset.gpu_capacity.ranking import Verdict, ZoneFacts, rank, usable

NEEDED = 96


def facts(
    zone: str,
    offered: bool = True,
    free: int = NEEDED,
    subnet: bool = True,
    score: int | None = 5,
    excluded: bool = False,
) -> ZoneFacts:
    return ZoneFacts(
        zone=zone,
        offered=offered,
        vcpus_free=free,
        subnet_id="subnet-0" if subnet else None,
        score=score,
        excluded=excluded,
    )


zone_facts = st.builds(
    facts,
    zone=st.sampled_from([f"us-east-2{letter}" for letter in "abcdefgh"]),
    offered=st.booleans(),
    free=st.sampled_from([0, NEEDED - 1, NEEDED, 10 * NEEDED]),
    subnet=st.booleans(),
    score=st.none() | st.integers(1, 10),
    excluded=st.booleans(),
)
regions = st.lists(zone_facts, unique_by=lambda f: f.zone)


def names(verdicts: tuple[Verdict, ...]) -> list[str]:
    return [v.facts.zone for v in verdicts]


def test_each_criterion_outweighs_all_that_follow() -> None:
    zones = [
        facts("a", offered=False, score=10),
        facts("b", free=NEEDED - 1, score=10),
        facts("c", subnet=False, score=10),
        facts("d", score=None),
        facts("e", score=1),
        facts("f", score=7),
        facts("g", score=7),
        facts("h", score=10, excluded=True),
    ]
    assert names(rank(zones, NEEDED)) == ["f", "g", "e", "d", "c", "b", "a", "h"]


def test_every_rejected_zone_has_its_reason() -> None:
    zones = [facts("a"), facts("b", offered=False, subnet=False), facts("c", free=95), facts("d", subnet=False)]
    zones.append(facts("e", offered=False, excluded=True))
    assert {v.facts.zone: v.rejected for v in rank(zones, NEEDED)} == {
        "a": None,
        "b": "not offered",
        "c": "quota: 96 vCPUs needed, 95 free",
        "d": "no subnet",
        "e": "excluded by the settings",
    }


@given(regions.flatmap(lambda zones: st.tuples(st.just(zones), st.permutations(zones))))
def test_the_order_of_the_zones_given_does_not_matter(twice: tuple[list[ZoneFacts], list[ZoneFacts]]) -> None:
    assert rank(twice[0], NEEDED) == rank(twice[1], NEEDED)


@given(regions)
def test_every_zone_comes_back_once(zones: list[ZoneFacts]) -> None:
    verdicts = rank(zones, NEEDED)
    assert sorted(names(verdicts)) == sorted(f.zone for f in zones)
    assert [v.facts for v in verdicts] == [v.facts for v in rank([v.facts for v in verdicts], NEEDED)]


@given(regions)
def test_a_usable_zone_is_offered_has_quota_and_a_subnet_and_comes_before_the_rest(zones: list[ZoneFacts]) -> None:
    verdicts = rank(zones, NEEDED)
    good = {f.zone for f in zones if f.offered and f.vcpus_free >= NEEDED and f.subnet_id and not f.excluded}
    assert set(names(usable(verdicts))) == good
    assert set(names(verdicts[: len(good)])) == good


@given(regions, st.data())
def test_a_score_never_rejects_a_zone(zones: list[ZoneFacts], data: st.DataObject) -> None:
    rescored = [replace(f, score=data.draw(st.none() | st.integers(1, 10))) for f in zones]
    assert set(names(usable(rank(zones, NEEDED)))) == set(names(usable(rank(rescored, NEEDED))))


def test_a_zone_given_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="zones given twice: a"):
        rank([facts("a"), facts("a", offered=False)], NEEDED)


@pytest.mark.parametrize(
    "module", ["ranking", "properties", "messages", "stickiness", "quota", "existing_texts", "tags"]
)
def test_the_pure_modules_import_neither_aws_cdk_nor_boto(module: str) -> None:
    code = (
        f"import sys, eks_ray_train.capacity_probe.asset.gpu_capacity.{module}\n"
        "assert not {'aws_cdk', 'boto3', 'botocore', 'jsii'} & sys.modules.keys()"
    )
    root = Path(__file__).parents[3] / "constructs"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(root)})


def test_the_construct_is_reachable_from_the_package_all_the_same() -> None:
    import eks_ray_train.capacity_probe as package
    from eks_ray_train.capacity_probe.construct import CapacityProbe

    assert package.CapacityProbe is CapacityProbe
    with pytest.raises(AttributeError, match="has no attribute 'CapacityProb'"):
        package.CapacityProb  # type: ignore[attr-defined] # noqa: B018 # that it is not there is the point
