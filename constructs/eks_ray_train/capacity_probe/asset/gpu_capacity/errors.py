"""The one exception that carries an answer for a person."""

REASON_CHARS = 800  # CloudFormation shows about 1,000 characters; the handler adds the name of its log group


def one_line(text: str, limit: int) -> str:
    """Return ``text`` on one line of at most ``limit`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


class ProbeError(Exception):
    """A refusal that says what is wrong and what to do.

    ``kind`` and ``details`` are for the log; the exception's text is CloudFormation's reason, one line of at most
    ``REASON_CHARS`` characters.
    """

    def __init__(self, kind: str, reason: str, **details: object) -> None:
        super().__init__(one_line(reason, REASON_CHARS))
        self.kind = kind
        self.details = {"reason": reason, **details}
