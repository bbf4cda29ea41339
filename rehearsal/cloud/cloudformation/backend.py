"""The stacks of the account, and the operations on them, each in a thread of its own."""

import threading
import time
import uuid
from typing import Any

from rehearsal.cloud.account import Account
from rehearsal.cloud.chart_sources import charts_of
from rehearsal.cloud.cloudformation.changes import changes, nothing_changes
from rehearsal.cloud.cloudformation.deployment import Deployment
from rehearsal.cloud.cloudformation.exports import Exports
from rehearsal.cloud.cloudformation.order import requirements
from rehearsal.cloud.cloudformation.parameters import resolve_parameters
from rehearsal.cloud.cloudformation.removal import remove
from rehearsal.cloud.cloudformation.scope import TemplateScope, active_resources, check_rules
from rehearsal.cloud.cloudformation.stack import Stack
from rehearsal.cloud.cloudformation.step import Steps, reason_of
from rehearsal.cloud.cloudformation.submission import ChangeSet, Submission
from rehearsal.cloud.cloudformation.template import Template
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.resources.registry import Registry

NO_CHANGES = "The submitted information didn't contain changes. Submit different information to create a change set."


class CloudFormation:
    """The stacks by name, deleted ones by id too. ``lock`` guards both, and the exports."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.types = Registry(account)
        self.stacks: dict[str, Stack] = {}
        self.deleted: dict[str, Stack] = {}
        self.change_sets: dict[str, ChangeSet] = {}
        self.lock = threading.RLock()
        self.exports = Exports(self.stacks, self.lock)

    def find(self, name: str) -> Stack:
        """Return a stack by name or id."""
        with self.lock:
            for stack in self.stacks.values():
                if name in (stack.name, stack.id):
                    return stack
            if name in self.deleted:
                return self.deleted[name]
        raise RefusedError(f"Stack with id {name} does not exist")

    def open(self, name: str) -> Stack:
        """Return a new stack; raises RefusedError where one of that name exists."""
        with self.lock:
            if name in self.stacks:
                raise RefusedError(f"Stack [{name}] already exists", "AlreadyExistsException")
            stack = Stack(
                name=name,
                id=self.account.arn("cloudformation", f"stack/{name}/{uuid.uuid4()}"),
                log=self.account.events,
            )
            self.stacks[name] = stack
            return stack

    def check(self, stack: Stack, submission: Submission) -> dict[str, Any]:
        """Return the parameters; raises RefusedError for what CloudFormation finds before it starts."""
        template = submission.template
        if unknown := sorted({r["Type"] for r in template.resources.values() if self.types.find(r["Type"]) is None}):
            raise RefusedError(
                f"Template format error: Unrecognized resource types: {unknown} (the rehearsal has none)"
            )
        parameters = resolve_parameters(template, submission.given, self.account)
        scope = self._scope(stack, template, parameters)
        check_rules(scope)
        requirements(active_resources(scope), scope)
        return parameters

    def propose(self, stack: Stack, name: str, submission: Submission) -> ChangeSet:
        """Make a change set."""
        parameters = self.check(stack, submission)
        empty = nothing_changes(stack, submission.template, parameters, submission.tags)
        change_set = ChangeSet(
            name=name,
            id=self.account.arn("cloudformation", f"changeSet/{name}/{uuid.uuid4()}"),
            stack=stack,
            submission=submission,
            parameters=parameters,
            changes=changes(stack, submission.template, parameters),
            status="FAILED" if empty else "CREATE_COMPLETE",
            reason=NO_CHANGES if empty else None,
        )
        with self.lock:
            self.change_sets[change_set.id] = change_set
        return change_set

    def start(self, stack: Stack, submission: Submission) -> None:
        """Create or update a stack in the background."""
        parameters = self.check(stack, submission)
        with stack.lock:
            if stack.status.endswith("_IN_PROGRESS") and stack.status != "REVIEW_IN_PROGRESS":
                raise RefusedError(f"Stack:{stack.id} is in {stack.status} state and can not be updated.")
            action = "CREATE" if stack.status == "REVIEW_IN_PROGRESS" else "UPDATE"
            if action == "UPDATE" and stack.status not in _UPDATABLE:
                raise RefusedError(f"Stack:{stack.id} is in {stack.status} state and can not be updated.")
            stack.token = submission.token
            stack.role = submission.role or stack.role
            stack.set_status(f"{action}_IN_PROGRESS", "User Initiated")
        scope = self._scope(stack, submission.template, parameters)
        self.account.charts.look_at(charts_of(submission.template.resources))

        def work() -> None:
            Deployment(
                stack=stack,
                scope=scope,
                types=self.types,
                check_exports=self.exports.check,
                submission=submission,
                action=action,
            ).run()

        self._run(stack, work, f"{action}_FAILED")

    def delete(self, stack: Stack, token: str | None) -> None:
        """Delete a stack in the background; one that is gone, or going, is left to it."""
        if stack.status in ("DELETE_COMPLETE", "DELETE_IN_PROGRESS"):
            return
        if stack.protected:
            raise RefusedError(f"Stack [{stack.name}] cannot be deleted while TerminationProtection is enabled")
        with stack.lock:
            if stack.status.endswith("_IN_PROGRESS") and stack.status != "REVIEW_IN_PROGRESS":
                raise RefusedError(f"Stack [{stack.id}] cannot be deleted while in status {stack.status}")
            stack.token = token
            stack.set_status("DELETE_IN_PROGRESS", "User Initiated")
        self._run(stack, lambda: self._delete(stack), "DELETE_FAILED")

    def _delete(self, stack: Stack) -> None:
        started = time.monotonic()
        try:
            self.exports.check(stack, {})
        except RefusedError as error:
            stack.set_status("DELETE_FAILED", str(error))
            return
        steps = Steps(stack, self.types)
        for resource in stack.resources.values():
            if resource.retain:
                steps.skip(resource)
        failures = remove({name: item for name, item in stack.resources.items() if not item.retain}, steps)
        if failures:
            with stack.lock:
                gone = {name for name, (status, _, _) in stack.statuses.items() if status == "DELETE_COMPLETE"}
                stack.resources = {name: item for name, item in stack.resources.items() if name not in gone}
            named = "; ".join(f"{name}: {reason_of(error)}" for name, error in sorted(failures.items()))
            reason = f"The following resource(s) failed to delete: [{', '.join(sorted(failures))}]. {named}"
            stack.set_status("DELETE_FAILED", reason, time.monotonic() - started)
            return
        with self.lock:
            stack.resources, stack.outputs, stack.imports = {}, {}, set()
            stack.set_status("DELETE_COMPLETE", seconds=time.monotonic() - started)
            del self.stacks[stack.name]
            self.deleted[stack.id] = stack

    def _scope(self, stack: Stack, template: Template, parameters: dict[str, Any]) -> TemplateScope:
        return TemplateScope(
            account=self.account,
            template=template,
            parameters=parameters,
            stack_name=stack.name,
            stack_id=stack.id,
            deployed=stack.resources,
            find_export=self.exports.find,
        )

    def _run(self, stack: Stack, work: Any, failed: str) -> None:
        def guarded() -> None:
            try:
                work()
            except Exception as error:
                # A fault of the emulation itself must not look like success, nor leave the command line waiting.
                stack.set_status(failed, f"internal: {reason_of(error)}")
                raise

        threading.Thread(target=guarded, name=f"stack {stack.name}", daemon=True).start()


_UPDATABLE = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "CREATE_FAILED", "UPDATE_FAILED")
