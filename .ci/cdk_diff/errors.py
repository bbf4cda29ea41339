"""What can go wrong, apart from the stacks themselves."""


class CallError(Exception):
    """A call that cannot be answered; the message is meant for the user."""


class CdkError(Exception):
    """The CDK command line failed; the message is what it printed."""
