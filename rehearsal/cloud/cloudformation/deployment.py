"""Create or update a stack, and undo it when something fails."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from rehearsal.cloud.cloudformation.intrinsics import resolve, text
from rehearsal.cloud.cloudformation.order import requirements, run_in_order
from rehearsal.cloud.cloudformation.removal import remove
from rehearsal.cloud.cloudformation.scope import TemplateScope, active_resources
from rehearsal.cloud.cloudformation.stack import Deployed, Output, Stack
from rehearsal.cloud.cloudformation.step import Steps, reason_of
from rehearsal.cloud.cloudformation.submission import Submission
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.resources.registry import Registry, is_custom


@dataclass(kw_only=True)
class Deployment:
    """One create or update of a stack.

    ``check_exports`` raises RefusedError where the stack's new exports are taken, or gone but in use.
    """

    stack: Stack
    scope: TemplateScope
    types: Registry
    check_exports: Callable[[Stack, dict[str, str]], None]
    submission: Submission
    action: str = "CREATE"
    _before: dict[str, Deployed] = field(default_factory=dict)
    _done: list[tuple[Deployed | None, Deployed]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.steps = Steps(self.stack, self.types)
        self.definitions = active_resources(self.scope)
        self.needs = requirements(self.definitions, self.scope)
        self._before = dict(self.stack.resources)
        self._started = time.monotonic()

    def run(self) -> None:
        """Deploy; the stack's status says how it went."""
        failures = run_in_order(self.needs, self._deploy)
        if failures:
            named = ", ".join(sorted(failures))
            reason = f"The following resource(s) failed to {self.action.lower()}: [{named}]. "
            self._fail(reason + " ".join(f"{name}: {reason_of(error)}" for name, error in sorted(failures.items())))
            return
        try:
            outputs = self._outputs()
            self.check_exports(self.stack, {o.export: o.value for o in outputs.values() if o.export})
        except Exception as error:
            self._fail(reason_of(error))
            return
        with self.stack.lock:
            self.stack.outputs = outputs
            self.stack.imports = set(self.scope.imports)
            self.stack.template = self.scope.template
            self.stack.parameters = dict(self.scope.parameters)
            self.stack.given, self.stack.tags = self.submission.given, self.submission.tags
        left = self._clean_up() if self.action == "UPDATE" else None
        self._end(f"{self.action}_COMPLETE", left)

    def _deploy(self, name: str) -> None:
        definition, needs = self.definitions[name], frozenset(self.needs[name])
        old = self._before.get(name)
        try:
            properties = resolve(definition.get("Properties", {}), self.scope)
            if old is not None and old.type != definition["Type"]:
                raise RefusedError(f"Update of resource type is not permitted: {old.type} to {definition['Type']}")
        except Exception as error:
            self.stack.event(name, definition["Type"], None, f"{self.action}_FAILED", reason_of(error))
            raise
        if old is not None and old.failed:
            self.steps.delete(old)
            old = None
        if old is None:
            try:
                new = self.steps.create(name, definition, properties, needs)
            except Exception:
                self._keep_half(name)
                raise
        else:
            try:
                new = self.steps.update(old, definition, properties, needs)
            except Exception:
                self._keep_half(name)
                if is_custom(old.type):
                    # CloudFormation undoes a failed update with a second Update, also of the resource that failed.
                    with self._lock:
                        self._done.append((old, replace(old, properties=properties)))
                raise
        with self._lock, self.stack.lock:
            self.stack.resources[name] = new
            self._done.append((old, new))

    def _keep_half(self, name: str) -> None:
        """Remember what exists of a resource that failed: a rollback deletes it, and without one it stays."""
        half = self.steps.half_made.pop(name, None)
        if half is not None:
            with self._lock, self.stack.lock:
                self._done.append((None, half))
                if name not in self._before or self._before[name].failed:
                    self.stack.resources[name] = half

    def _outputs(self) -> dict[str, Output]:
        outputs = {}
        for key, spec in self.scope.template.section("Outputs").items():
            if "Condition" in spec and not self.scope.condition(spec["Condition"]):
                continue
            try:
                value = text(resolve(spec["Value"], self.scope))
                export = text(resolve(spec["Export"]["Name"], self.scope)) if "Export" in spec else None
            except Exception as error:
                raise RefusedError(f"Output {key}: {reason_of(error)}") from error
            outputs[key] = Output(key=key, value=value, description=spec.get("Description"), export=export)
        return outputs

    def _clean_up(self) -> str | None:
        """Delete what was replaced or removed; say what cannot be deleted, which stays behind and fails nothing."""
        self.stack.set_status("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS")
        gone: dict[str, Deployed] = {}
        for name, old in self._before.items():
            with self.stack.lock:
                new = self.stack.resources[name] if name in self.definitions else None
                if new is None:
                    del self.stack.resources[name]
            if new is not None and (old.failed or new.physical_id == old.physical_id):
                continue
            if old.retain if new is None else old.retain_when_replaced:
                self.steps.skip(old)
            else:
                gone[name] = old
        failures = remove(gone, self.steps)
        return "; ".join(f"{name} stays: {reason_of(error)}" for name, error in failures.items()) or None

    def _fail(self, reason: str) -> None:
        prefix = "" if self.action == "CREATE" else "UPDATE_"
        if not self.submission.roll_back:
            self._end(f"{self.action}_FAILED", reason)
            return
        self.stack.set_status(f"{prefix}ROLLBACK_IN_PROGRESS", reason)
        stuck = []
        for old, new in reversed(self._done):
            try:
                self._undo(old, new)
            except Exception as error:
                stuck.append(f"{new.logical_id}: {reason_of(error)}")
        if stuck:
            self._end(f"{prefix}ROLLBACK_FAILED", f"{reason} Rollback: {' '.join(stuck)}")
        else:
            self._end(f"{prefix}ROLLBACK_COMPLETE", reason)

    def _undo(self, old: Deployed | None, new: Deployed) -> None:
        name = new.logical_id
        if old is None:
            if new.retain_on_rollback:
                self.steps.skip(new)
            else:
                self.steps.delete(new)
            with self.stack.lock:
                if self.stack.resources.get(name) is new:
                    del self.stack.resources[name]
            return
        back = old
        if new.physical_id != old.physical_id and not is_custom(new.type):
            self.steps.delete(new)
        elif new.properties != old.properties:
            undone = self.steps.update(new, {"Type": old.type}, old.properties, old.needs)
            back = replace(old, physical_id=undone.physical_id, attributes=undone.attributes)
            if back.physical_id != new.physical_id:
                self.steps.delete(new)
        with self.stack.lock:
            self.stack.resources[name] = back

    def _end(self, status: str, reason: str | None = None) -> None:
        self.stack.set_status(status, reason, time.monotonic() - self._started)
