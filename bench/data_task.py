"""What the benchmark of data reads: Python's own sources as JSON lines, a tokenizer, and how they are cut."""

import json
from dataclasses import dataclass
from pathlib import Path

from rehearsal.stand_in_model import write_stand_in_model
from training.arguments import STDLIB, Arguments
from training.corpus import open_corpus

SEED = 0
# As in environments/dev.toml: eight samples a step, one on each GPU.
BATCH = 8
SEQUENCE_LENGTH = 1024
# Several tasks of Ray Data can then read at a time.
SHARDS = 8


@dataclass(frozen=True)
class Task:
    """Texts and tokenizer below `folder`, which also takes what either way writes."""

    folder: str

    @property
    def documents(self) -> Path:
        """A folder of JSON lines, each a document under "text"."""
        return Path(self.folder, "documents")

    @property
    def tokenizer(self) -> Path:
        """A byte-level tokenizer, as its library saves it."""
        return Path(self.folder, "model", "tokenizer.json")

    @property
    def sequences(self) -> Path:
        """Where Ray Data writes its packed sequences, as parquet."""
        return Path(self.folder, "sequences")

    def arguments(self) -> Arguments:
        """Our settings, as the command line has them."""
        return Arguments(
            run_name="bench",
            model=str(Path(self.folder, "model", "config.json")),
            data=str(self.documents),
            results=str(Path(self.folder, "results")),
            sequence_length=SEQUENCE_LENGTH,
            seed=SEED,
        )


def write_task(folder: Path, most_bytes: int) -> Task:
    """Write about `most_bytes` of Python's standard library, and a tokenizer. Raises InputError: it has none."""
    task = Task(str(folder))
    write_stand_in_model(task.tokenizer.parent)
    task.documents.mkdir(parents=True)
    shards: list[list[str]] = [[] for _ in range(SHARDS)]
    size = 0
    stdlib = Arguments(run_name="bench", model="unused", data=STDLIB, results=str(folder))
    for number, document in enumerate(open_corpus(stdlib).documents()):
        text = "".join(document)
        shards[number % SHARDS].append(json.dumps({"text": text}) + "\n")
        size += len(text)
        if size >= most_bytes:
            break
    for number, lines in enumerate(shards):
        (task.documents / f"{number}.jsonl").write_text("".join(lines))
    return task
