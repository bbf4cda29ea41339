"""Which sample is whose. A run's position is the number of samples seen, whatever the number of processes.

One process with a micro-batch of 8, and eight with a micro-batch of 1, see the same global batch at each step.
"""

import numpy as np
import numpy.typing as npt
import torch

from training.loss import IGNORED


class Samples:
    """Sequences cut from one row of token ids, in an order that `seed` shuffles anew for each pass over them.

    Sample i is the same for every process that has the same ids. It has sequence_length + 1 tokens: the last is only
    predicted, so neighbours share one token and every token is a target once. The last `held_out` sequences are for
    evaluation. `end` is the id that ends a document: what follows it begins another, and is not predicted from it.
    """

    def __init__(
        self, ids: npt.NDArray[np.int32], sequence_length: int, seed: int, held_out: int = 0, end: int | None = None
    ) -> None:
        self._ids = ids
        self._length = sequence_length
        self._seed = seed
        self._end = end
        self._count = (len(ids) - 1) // sequence_length - held_out
        self._held_out = held_out
        self._pass = -1
        self._order: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def __getitem__(self, index: int) -> torch.Tensor:
        """Return global sample `index` (any from 0: the order wraps), int64 of shape (sequence_length + 1,)."""
        passes, position = divmod(index, self._count)
        if passes != self._pass:
            self._pass, self._order = passes, np.random.default_rng((self._seed, passes)).permutation(self._count)
        return self._sequence(int(self._order[position]))

    def batch(self, first: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return ids and targets of the samples from `first`, each of shape (count, sequence_length)."""
        return self._split(torch.stack([self[index] for index in range(first, first + count)]))

    def targets_between(self, first: int, last: int) -> int:
        """Return how many targets count in the samples from `first` up to `last`, at least 1."""
        return max(1, sum(int((self._split(self[index])[1] != IGNORED).sum()) for index in range(first, last)))

    def held_out(self, rank: int, world_size: int, size: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Return this rank's share of the evaluation sequences, in as many batches of `size` as every other rank.

        Where there is none left, a batch is filled with sequences whose targets do not count.
        """
        batches = -(-self._held_out // (world_size * size))
        found = []
        for number in range(batches):
            rows = []
            for row in range(size):
                index = (number * world_size + rank) * size + row
                ids, targets = self._split(self._sequence(self._count + min(index, self._held_out - 1)))
                rows.append((ids, targets if index < self._held_out else torch.full_like(targets, IGNORED)))
            found.append((torch.stack([ids for ids, _ in rows]), torch.stack([targets for _, targets in rows])))
        return found

    def _sequence(self, number: int) -> torch.Tensor:
        start = number * self._length
        return torch.from_numpy(self._ids[start : start + self._length + 1].astype(np.int64))

    def _split(self, sequences: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        ids, targets = sequences[..., :-1], sequences[..., 1:]
        if self._end is not None:
            targets = targets.masked_fill(ids == self._end, IGNORED)
        return ids, targets
