"""What ends a benchmark without figures."""


class BenchError(Exception):
    """A measurement that cannot be made; the text names field, value, what was expected and what to do."""

    def __init__(self, field: str, value: object, expected: str, remedy: str) -> None:
        super().__init__(f"{field} = {value}\n    expected: {expected}\n    to do:    {remedy}")


def ending(code: int, printed: str) -> str:
    """Return how a process ended, with the last 3000 characters of what it printed, if it printed any."""
    return f"exit code {code}" + (f":\n{said}" if (said := printed.strip()[-3000:]) else "")
