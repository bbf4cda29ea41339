"""Each rule finds its own fault, and every rule is tried: a rule that finds nothing is not a check."""

import pytest

from eks_ray_train.checks import RULES, Finding, Severity
from tests.unit.checks.mutant import Mutant
from tests.unit.checks.mutants import MUTANTS


def test_every_rule_has_a_mutant_and_every_mutant_a_rule() -> None:
    assert {mutant.code for mutant in MUTANTS} == {rule.code for rule in RULES}


def test_codes_are_unique() -> None:
    codes = [rule.code for rule in RULES]
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.code}: {mutant.name}")
def test_the_mutant_is_caught_by_its_own_rule_first(mutant: Mutant) -> None:
    findings: list[Finding] = mutant.make().findings()
    assert findings, "nothing found it"
    assert findings[0].code == mutant.code
    # A rule that fires with every other would say little of what is wrong.
    assert len({finding.code for finding in findings}) <= 3


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.code}: {mutant.name}")
def test_its_finding_says_what_to_do(mutant: Mutant) -> None:
    finding = mutant.make().findings()[0]
    assert finding.severity is next(rule.severity for rule in RULES if rule.code == mutant.code)
    assert finding.field
    assert len(finding.expected) > 10
    assert len(finding.remedy) > 5
    assert "Token[" not in str(finding)


def test_warnings_are_what_can_be_meant() -> None:
    warned = {rule.code for rule in RULES if rule.severity is Severity.WARNING}
    assert warned == {
        "image-known",
        "zone-eks",
        "transport-rdma-off",
        "transport-huge-pages",
        "transport-diagnostic",
        "gpu-memory-room",
        "checkpoints-for-failures",
        "kubernetes-ending",
        "ami-age",
        "price-age",
    }
