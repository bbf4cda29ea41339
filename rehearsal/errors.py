"""The one error that a rehearsal ends with when something is not as it should be."""


class RehearsalError(Exception):
    """Something that stops the rehearsal: `field` has `value`, `expected` was needed, `remedy` is what to do next."""

    def __init__(self, field: str, value: object, expected: str, remedy: str) -> None:
        super().__init__(field, value, expected, remedy)
        self.field = field
        self.value = value
        self.expected = expected
        self.remedy = remedy

    def __str__(self) -> str:
        """Give the four parts, one line each where they are long."""
        return f"{self.field}: {self.value}\n  expected: {self.expected}\n  next: {self.remedy}"
