"""Finds the resource types: every subclass of ResourceType in a module of this folder."""

import importlib
import pkgutil

from rehearsal.cloud import resources
from rehearsal.cloud.account import Account
from rehearsal.cloud.resources.base import ResourceType
from rehearsal.cloud.resources.custom_resource import CustomResource


def is_custom(type: str) -> bool:
    """Whether a type is a custom resource's."""
    return type.startswith("Custom::") or type == "AWS::CloudFormation::CustomResource"


class Registry:
    """The resource types of an account, by name; custom resources share one."""

    def __init__(self, account: Account) -> None:
        self._custom = CustomResource(account)
        self._types: dict[str, ResourceType] = {}
        for module in pkgutil.iter_modules(resources.__path__, f"{resources.__name__}."):
            for item in vars(importlib.import_module(module.name)).values():
                if isinstance(item, type) and issubclass(item, ResourceType) and "type" in vars(item):
                    self._types[item.type] = item(account)

    def find(self, name: str) -> ResourceType | None:
        """Return a type, or None where it is not emulated."""
        if is_custom(name):
            return self._custom
        return self._types.get(name)

    def get(self, name: str) -> ResourceType:
        """Return a type that is known to be emulated."""
        found = self.find(name)
        assert found is not None, name
        return found
