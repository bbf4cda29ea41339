"""What is measured at each step, with as few waits for the device as possible."""

import math
import sys
import time

import torch
import torch.distributed as dist

from training.arguments import Arguments
from training.errors import TrainingError
from training.results import EVALUATIONS, METRICS, JsonLines, RunFolder

# Steps between two readings. Reading a loss waits for the GPU and stops the CPU from queueing the next step; ten steps
# share one wait and still give a line every few seconds. On the CPU there is no queue, so each step is read.
READ_EVERY = {"cuda": 10, "cpu": 1}
# A row of the table per second is as much as a person reads in a log.
SECONDS_BETWEEN_ROWS = 1.0
HEADER = "    step      loss  grad norm  learn rate    tokens/s   s/step      left"


class StepMetrics:
    """Collects each step's loss and gradient norm on the device and reads them in batches, together on all ranks.

    Rank 0 also writes metrics.jsonl and prints the table. `done` steps lie behind: what an earlier attempt wrote of
    them stays. Use it as a context manager around the steps.
    """

    def __init__(self, args: Arguments, device: torch.device, folder: RunFolder, done: int) -> None:
        self._args = args
        self._every = READ_EVERY[device.type]
        self._tokens = args.global_batch(dist.get_world_size()) * args.sequence_length
        self._first = done + 1
        writes = dist.get_rank() == 0
        self._file = JsonLines(folder, METRICS, lambda row: row["step"] <= done) if writes else None
        self._evaluations = (
            JsonLines(folder, EVALUATIONS, lambda row: row["step"] <= done) if writes and args.evaluate_every else None
        )
        self._pending: list[tuple[int, float, torch.Tensor, torch.Tensor]] = []
        self._began = time.perf_counter()
        self._printed = -math.inf
        earlier = [] if self._file is None else self._file.rows
        self.losses = [float(row["loss"]) for row in earlier]
        self._earlier = [float(row["step_seconds"]) for row in earlier]
        self._seconds: list[float] = []

    def __enter__(self) -> "StepMetrics":
        """Start the clock."""
        self.resume_clock()
        if self._file is not None:
            _print(HEADER)
        return self

    def __exit__(self, *error: object) -> None:
        """Complete the files."""
        self.flush()

    def resume_clock(self) -> None:
        """Leave out the time since the last reading: it went into something other than steps."""
        self._began = time.perf_counter()

    def add(self, step: int, learning_rate: float, loss: torch.Tensor, gradient_norm: torch.Tensor) -> None:
        """Take the results of `step` (from 1): this rank's part of the mean loss, and the norm of the whole gradient.

        Raises TrainingError on every rank when the loss is no longer finite.
        """
        self._pending.append((step, learning_rate, loss.detach(), gradient_norm.detach()))
        # The first step is read alone: it holds the warm-up of every library and would spoil the mean of its batch.
        if step == self._first or step % self._every == 0 or step == self._args.steps:
            self.read()

    def add_evaluation(self, step: int, loss: float) -> None:
        """Take the mean loss of the held-out sequences after `step`. Raises TrainingError as `add` does."""
        if not math.isfinite(loss):
            raise TrainingError(
                f"step {step}: loss {loss} on the held-out sequences; it must be finite. {self._what_to_do()}"
            )
        if self._evaluations is not None:
            self._evaluations.append([{"step": step, "loss": loss, "time": time.time()}])
            _print(f"{step:>8.0f}{loss:>10.4f}  on the held-out sequences")

    def flush(self) -> None:
        """Have the files hold all that was read."""
        for file in (self._file, self._evaluations):
            if file is not None:
                file.flush()

    def read(self) -> None:
        """Read what was added, on all ranks. Raises TrainingError as `add` does."""
        if not self._pending:
            return
        losses = torch.stack([loss for _, _, loss, _ in self._pending]).float()
        norms = torch.stack([norm for _, _, _, norm in self._pending]).float()
        dist.all_reduce(losses)
        loss_values, norm_values = losses.tolist(), norms.tolist()
        now = time.perf_counter()
        seconds = (now - self._began) / len(self._pending)
        rows = [
            {
                "step": step,
                "loss": loss,
                "grad_norm": norm,
                "learning_rate": learning_rate,
                "tokens_per_second": self._tokens / seconds,
                "step_seconds": seconds,  # mean since the reading before
                "time": time.time(),
            }
            for (step, learning_rate, _, _), loss, norm in zip(self._pending, loss_values, norm_values, strict=True)
        ]
        finite = [row for row in rows if math.isfinite(row["loss"]) and math.isfinite(row["grad_norm"])]
        if self._file is not None:
            self._file.append(finite)
            self._print_row(rows[-1], now)
        if len(finite) < len(rows):
            bad = next(row for row in rows if row not in finite)
            raise TrainingError(
                f"step {bad['step']}: loss {bad['loss']}, gradient norm {bad['grad_norm']}; both must be finite. "
                f"{self._what_to_do()}"
            )
        self.losses += loss_values
        self._seconds += [seconds] * len(rows)
        self._pending.clear()
        self._began = now

    def _what_to_do(self) -> str:
        instead = "" if self._args.compute_dtype == "float32" else " or use --compute-dtype float32"
        return f"Lower --learning-rate (it is {self._args.learning_rate}){instead}."

    def _print_row(self, row: dict[str, float], now: float) -> None:
        last = row["step"] == self._args.steps
        if now - self._printed < SECONDS_BETWEEN_ROWS and not last:
            return
        self._printed = now
        left = round((self._args.steps - row["step"]) * row["step_seconds"])
        _print(
            f"{row['step']:>8.0f}{row['loss']:>10.4f}{row['grad_norm']:>11.3f}{row['learning_rate']:>12.2e}"
            f"{row['tokens_per_second']:>12,.0f}{row['step_seconds']:>9.3f}{f'{left // 60}m {left % 60:02}s':>10}"
        )

    @property
    def step_seconds(self) -> list[float]:
        """Seconds of each step of this attempt, on rank 0 of those before if it has none.

        The first, which warms up, only when it is alone.
        """
        seconds = self._seconds or self._earlier
        return seconds[1:] or seconds


def _print(line: str) -> None:
    # Not print: Ray Train replaces it, and its version sometimes writes a line twice.
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
