"""How the emulated AWS says no."""


class RefusedError(Exception):
    """What AWS would refuse, or what is not emulated; the text is the status reason of a resource or stack.

    ``code`` is the error code where a call is refused directly.
    """

    def __init__(self, message: str, code: str = "ValidationError") -> None:
        super().__init__(message)
        self.code = code
