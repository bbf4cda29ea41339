"""Which zone comes first over several regions, whatever the order in which they answer."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.loading import load
from ops.capacity import probe
from ops.capacity.recommend import order, recommend
from ops.capacity.scan import RegionAnswer

DEV = load("dev")
REGIONS = ("us-east-1", "us-east-2", "us-west-2")


def _answer(region: str, scores: dict[str, int | None], offered: frozenset[str]) -> RegionAnswer:
    facts = [
        probe.ZoneFacts(
            zone=region + letter, offered=letter in offered, vcpus_free=96, subnet_id="made later", score=score
        )
        for letter, score in scores.items()
    ]
    return RegionAnswer(
        region=region, verdicts=probe.rank(facts, 96), quota=probe.Quota(code="L-DB2E81BA", limit=96, used=0)
    )


letters = st.dictionaries(
    st.sampled_from("abcdef"), st.one_of(st.none(), st.integers(min_value=1, max_value=10)), min_size=1
)
answers = st.lists(st.tuples(st.sampled_from(REGIONS), letters, st.frozensets(st.sampled_from("abcdef")))).map(
    lambda found: [_answer(*one) for one in {one[0]: one for one in found}.values()]
)


@given(answers, st.randoms())
@settings(max_examples=60, deadline=None)
def test_the_order_is_the_same_however_the_answers_come(found: list[RegionAnswer], random: object) -> None:
    mixed = list(found)
    random.shuffle(mixed)  # type: ignore[attr-defined] # hypothesis types its randoms as object here

    assert order(mixed, DEV) == order(found, DEV)
    assert recommend(mixed, DEV, at_least=2, at_most=6) == recommend(found, DEV, at_least=2, at_most=6)


@given(answers)
@settings(max_examples=60, deadline=None)
def test_a_rejected_zone_is_never_recommended_and_the_best_score_always(found: list[RegionAnswer]) -> None:
    chosen = recommend(found, DEV, at_least=2, at_most=6)

    usable = {v.facts.zone: v.facts.score or 0 for answer in found for v in answer.usable}
    assert (chosen is None) == (not usable)
    if chosen is not None:
        assert usable[chosen.zone] == max(usable.values())
        assert chosen.zone in chosen.zones
        assert all(zone.startswith(chosen.region) for zone in chosen.zones)


@pytest.mark.parametrize(
    ("scores", "first"),
    [
        ({"us-east-1": {"a": None}, "us-east-2": {"a": None}}, "us-east-2a"),
        ({"us-east-1": {"a": 2}, "us-east-2": {"a": 1}}, "us-east-1a"),
        ({"us-east-2": {"f": 3, "d": 3}}, "us-east-2d"),
        ({"us-east-2": {"d": 3, "c": 3}}, "us-east-2c"),
    ],
)
def test_ties_go_to_the_environments_zones_then_its_region_then_the_name(
    scores: dict[str, dict[str, int | None]], first: str
) -> None:
    found = [_answer(name, given, frozenset("abcdef")) for name, given in scores.items()]

    assert order(found, DEV)[0][1].facts.zone == first


def test_a_zone_without_a_control_plane_of_eks_fills_nothing_up() -> None:
    answer = _answer("us-east-1", {"a": 1, "b": 1, "c": 1}, frozenset("a"))
    without = RegionAnswer(
        region=answer.region,
        verdicts=answer.verdicts,
        without_eks=frozenset({"us-east-1b"}),
        quota=answer.quota,
    )

    chosen = recommend([without], DEV, at_least=2, at_most=6)

    assert chosen is not None
    assert chosen.zones == ("us-east-1a", "us-east-1c")
