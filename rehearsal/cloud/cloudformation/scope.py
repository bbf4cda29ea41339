"""What the names in a template mean: parameters, conditions, resources, exports of other stacks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rehearsal.cloud.account import Account
from rehearsal.cloud.cloudformation.intrinsics import NO_VALUE, resolve
from rehearsal.cloud.cloudformation.stack import Deployed
from rehearsal.cloud.cloudformation.template import Template
from rehearsal.cloud.errors import RefusedError


@dataclass
class TemplateScope:
    """The scope of one operation on one stack; ``imports`` collects the exports that were used."""

    account: Account
    template: Template
    parameters: Mapping[str, Any]
    stack_name: str
    stack_id: str
    deployed: Mapping[str, Deployed]
    find_export: Callable[[str], str]
    imports: set[str] = field(default_factory=set)

    def ref(self, name: str) -> Any:
        """Return a pseudo parameter, a parameter or a resource's physical id."""
        pseudo = {
            "AWS::AccountId": self.account.id,
            "AWS::Partition": "aws",
            "AWS::Region": self.account.region,
            "AWS::StackId": self.stack_id,
            "AWS::StackName": self.stack_name,
            "AWS::URLSuffix": "amazonaws.com",
            "AWS::NoValue": NO_VALUE,
        }
        if name in pseudo:
            return pseudo[name]
        if name in self.parameters:
            return self.parameters[name]
        return self._resource(name).physical_id

    def attribute(self, name: str, attribute: str) -> Any:
        """Return an attribute of a resource; raises RefusedError where it has none of that name."""
        found = self._resource(name)
        if attribute not in found.attributes:
            raise RefusedError(
                f"{name} ({found.type}) has no attribute {attribute} (it has {sorted(found.attributes)})"
            )
        return found.attributes[attribute]

    def imported(self, name: str) -> str:
        """Return another stack's export."""
        value = self.find_export(name)
        self.imports.add(name)
        return value

    def condition(self, name: str) -> bool:
        """Return a condition's value."""
        conditions = self.template.section("Conditions")
        if name not in conditions:
            raise RefusedError(f"Template format error: Unresolved condition {name}")
        return bool(resolve(conditions[name], self))

    def mapping(self, name: str, first: str, second: str) -> Any:
        """Return a mapped value."""
        try:
            return self.template.section("Mappings")[name][first][second]
        except KeyError as error:
            raise RefusedError(f"Template error: Unable to get mapping for {name}::{first}::{second}") from error

    def zones(self, region: str) -> list[str]:
        """Return the region's zones."""
        if region and region != self.account.region:
            raise RefusedError(f"Fn::GetAZs of another region ({region}) is not emulated")
        zones = self.account.client("ec2").describe_availability_zones()["AvailabilityZones"]
        return sorted(zone["ZoneName"] for zone in zones)

    def _resource(self, name: str) -> Deployed:
        if name not in self.deployed:
            raise RefusedError(f"Template error: unresolved reference to {name}")
        return self.deployed[name]


def active_resources(scope: TemplateScope) -> dict[str, dict[str, Any]]:
    """Return the definitions whose condition holds."""
    return {
        name: definition
        for name, definition in scope.template.resources.items()
        if "Condition" not in definition or scope.condition(definition["Condition"])
    }


def check_rules(scope: TemplateScope) -> None:
    """Raise RefusedError where an assertion of the template's Rules does not hold."""
    for name, rule in scope.template.section("Rules").items():
        if "RuleCondition" in rule and not resolve(rule["RuleCondition"], scope):
            continue
        for assertion in rule["Assertions"]:
            if not resolve(assertion["Assert"], scope):
                raise RefusedError(
                    f"Template error: rule {name}: {assertion.get('AssertDescription', 'does not hold')}"
                )
