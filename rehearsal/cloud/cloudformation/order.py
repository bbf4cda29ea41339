"""Which resource waits for which, and work that is done in that order, as much at once as the order allows."""

import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from graphlib import CycleError, TopologicalSorter
from typing import Any

from rehearsal.cloud.cloudformation.scope import TemplateScope
from rehearsal.cloud.errors import RefusedError

_AT_ONCE = 8
_NAMES = re.compile(r"\$\{([^!.}]+)[^}]*\}")


def requirements(resources: Mapping[str, dict[str, Any]], scope: TemplateScope) -> dict[str, set[str]]:
    """Return for each resource those that it needs: by DependsOn, Ref, Fn::GetAtt and Fn::Sub.

    Raises RefusedError for a name that does not exist and for a circle.
    """
    needs = {}
    for name, definition in resources.items():
        explicit = definition.get("DependsOn", [])
        explicit = {explicit} if isinstance(explicit, str) else set(explicit)
        if unknown := sorted(explicit - scope.template.resources.keys()):
            raise RefusedError(f"Template format error: Unresolved resource dependencies {unknown} in {name}")
        mentioned = set(_mentioned(definition.get("Properties", {}), scope))
        for other in sorted(mentioned - resources.keys()):
            if other not in scope.parameters and not other.startswith("AWS::"):
                raise RefusedError(f"Template format error: Unresolved resource dependencies [{other}] in {name}")
        needs[name] = (explicit | mentioned) & resources.keys()
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        raise RefusedError(f"Circular dependency between resources: {sorted(set(error.args[1]))}") from error
    return needs


def run_in_order(needs: Mapping[str, Iterable[str]], work: Callable[[str], None]) -> dict[str, Exception]:
    """Call ``work`` for each name after those that it needs; return what failed.

    After a failure nothing new is started; what runs already is waited for.
    """
    sorter = TopologicalSorter({name: set(others) & needs.keys() for name, others in needs.items()})
    sorter.prepare()
    failures: dict[str, Exception] = {}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        running: dict[Future[None], str] = {}
        while sorter.is_active() and not (failures and not running):
            if not failures:
                running.update({pool.submit(work, name): name for name in sorter.get_ready()})
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                name = running.pop(future)
                error = future.exception()
                if isinstance(error, Exception):
                    failures[name] = error
                elif error is not None:
                    raise error
                else:
                    sorter.done(name)
    return failures


def reversed_needs(needs: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    """Return the order of deletion: what others need waits for them."""
    turned: dict[str, set[str]] = {name: set() for name in needs}
    for name, others in needs.items():
        for other in others:
            if other in turned:
                turned[other].add(name)
    return turned


def _mentioned(value: Any, scope: TemplateScope) -> Iterable[str]:
    if isinstance(value, list):
        for item in value:
            yield from _mentioned(item, scope)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == "Ref":
                yield item
            elif key == "Fn::GetAtt":
                yield item.split(".", 1)[0] if isinstance(item, str) else item[0]
            elif key == "Fn::If":
                yield from _mentioned(item[1] if scope.condition(item[0]) else item[2], scope)
            elif key == "Fn::Sub":
                template, given = (item, {}) if isinstance(item, str) else item
                yield from (name for name in _NAMES.findall(template) if name not in given)
                yield from _mentioned(given, scope)
            else:
                yield from _mentioned(item, scope)
