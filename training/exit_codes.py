"""How the driver ends. Any other code is a crash, after which the supervisor starts it again."""

SUCCEEDED = 0
# Training failed, and would again: the run has used up its failures, or has diverged.
FAILED = 1
# The input cannot be trained with; no worker was started.
REFUSED = 2
# As `timeout` of coreutils has it.
DEADLINE = 124
FINAL = frozenset({SUCCEEDED, FAILED, REFUSED, DEADLINE})
# An error of the driver that nothing expects, such as a Ray that does not answer.
CRASHED = 70
