"""Records every call to a stand-in, and kills the function before or after one."""

from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError

from .models import check


class Killed(BaseException):
    """The function's process has ended: nothing of it runs any more, no ``except Exception`` and no ``finally``."""


class Tape:
    """What one account was asked, by all services, and where the function dies.

    ``kill_at`` is the number of a call, from 1, and ``before`` or ``after`` its effect. Once dead, every call raises:
    whatever a ``finally`` would still do has no effect, as in a process that is gone.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, dict[str, Any]]] = []
        self.kill_at: tuple[int, str] | None = None
        self.since_start = 0
        self.dead = False
        self.after_each: Callable[[], None] = lambda: None

    def start(self, kill_at: tuple[int, str] | None = None) -> None:
        """Begin an invocation."""
        self.since_start, self.dead, self.kill_at = 0, False, kill_at

    def call(
        self, service: str, operation: str, parameters: dict[str, Any], effect: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        if self.dead:
            raise Killed
        check(service, operation, "input", parameters)
        self.since_start += 1
        self._die((self.since_start, "before"))
        self.calls.append((service, operation, parameters))
        try:
            answer = effect()
        finally:
            self.after_each()
            self._die((self.since_start, "after"))
        check(service, operation, "output", answer)
        return answer

    def _die(self, point: tuple[int, str]) -> None:
        if self.kill_at == point:
            self.dead = True
            raise Killed


class Service:
    """A stand-in for a client: ``failures`` holds errors by operation; ``after X`` raises once X has taken effect."""

    service: str

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.failures: dict[str, BaseException] = {}

    def answer(
        self, operation: str, parameters: dict[str, Any], effect: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        def take_effect() -> dict[str, Any]:
            if operation in self.failures:
                raise self.failures[operation]
            result = effect()
            if f"after {operation}" in self.failures:
                raise self.failures[f"after {operation}"]
            return result

        return self.tape.call(self.service, operation, parameters, take_effect)

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        return [(operation, given) for service, operation, given in self.tape.calls if service == self.service]

    @property
    def operations(self) -> list[str]:
        return [operation for operation, _ in self.calls]

    def parameters_of(self, operation: str) -> list[dict[str, Any]]:
        return [given for name, given in self.calls if name == operation]


def error(code: str, operation: str, message: str = "EC2's words.") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, operation)


def page(key: str, items: list[Any], parameters: dict[str, Any]) -> dict[str, Any]:
    """One item a page, for code that reads the first page only must not pass."""
    at = int(parameters.get("NextToken", 0))
    return {key: items[at : at + 1]} | ({"NextToken": str(at + 1)} if at + 1 < len(items) else {})
