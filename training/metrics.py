"""What is measured at each step, with as few waits for the device as possible."""

import math
import statistics
import sys
import time

import torch
import torch.distributed as dist

from training.arguments import Arguments
from training.results import MetricsFile, RunFolder

# Steps between two readings. Reading a loss waits for the GPU and stops the CPU from queueing the next step; ten steps
# share one wait and still give a line every few seconds. On the CPU there is no queue, so each step is read.
READ_EVERY = {"cuda": 10, "cpu": 1}
# A row of the table per second is as much as a person reads in a log.
SECONDS_BETWEEN_ROWS = 1.0
HEADER = "    step      loss  grad norm  learn rate    tokens/s   s/step      left"


class StepMetrics:
    """Collects each step's loss and gradient norm on the device and reads them in batches, together on all ranks.

    Rank 0 also writes metrics.jsonl and prints the table. Use it as a context manager around the steps.
    """

    def __init__(self, args: Arguments, device: torch.device) -> None:
        self._args = args
        self._device = device
        self._world_size = dist.get_world_size()
        self._every = READ_EVERY[device.type]
        self._file = MetricsFile(RunFolder(args.results, args.run_name)) if dist.get_rank() == 0 else None
        self._pending: list[tuple[int, float, torch.Tensor, torch.Tensor]] = []
        self._began = time.perf_counter()
        self._printed = -math.inf
        self.losses: list[float] = []
        self._speeds: list[float] = []

    def __enter__(self) -> "StepMetrics":
        """Start the clock."""
        self._began = time.perf_counter()
        if self._file is not None:
            _print(HEADER)
        return self

    def __exit__(self, *error: object) -> None:
        """Complete the file."""
        if self._file is not None:
            self._file.close()

    def add(self, step: int, learning_rate: float, loss: torch.Tensor, gradient_norm: torch.Tensor) -> None:
        """Take the results of `step` (from 1): this rank's mean loss, and the norm of the whole gradient.

        Raises RuntimeError on every rank when the loss is no longer finite.
        """
        self._pending.append((step, learning_rate, loss.detach(), gradient_norm.detach()))
        # Step 1 is read alone: it holds the warm-up of every library and would spoil the mean of the first batch.
        if step == 1 or step % self._every == 0 or step == self._args.steps:
            self._read()

    def _read(self) -> None:
        losses = torch.stack([loss for _, _, loss, _ in self._pending]).float()
        norms = torch.stack([norm for _, _, _, norm in self._pending]).float()
        dist.all_reduce(losses)
        loss_values = (losses / self._world_size).tolist()
        norm_values = norms.tolist()
        now = time.perf_counter()
        seconds = (now - self._began) / len(self._pending)
        args = self._args
        speed = args.micro_batch * self._world_size * args.sequence_length / seconds
        rows = [
            {
                "step": step,
                "loss": loss,
                "grad_norm": norm,
                "learning_rate": learning_rate,
                "tokens_per_second": speed,
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
            raise RuntimeError(
                f"step {bad['step']}: loss {bad['loss']}, gradient norm {bad['grad_norm']}; both must be finite. "
                f"Lower --learning-rate (it is {args.learning_rate}) or use --compute-dtype float32."
            )
        self.losses += loss_values
        self._speeds += [speed] * len(rows)
        self._pending.clear()
        self._began = now

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
    def tokens_per_second(self) -> float:
        """Median over the steps, of all workers together; the first step, which warms up, only when it is alone."""
        return statistics.median(self._speeds[1:] or self._speeds)


def _print(line: str) -> None:
    # Not print: Ray Train replaces it, and its version sometimes writes a line twice.
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
