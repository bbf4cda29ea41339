"""The benchmark of data: its marks, comparisons and tables, and our way without Ray; no time is judged."""

import dataclasses
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from bench import data, data_memory
from bench.data_pack import end_of_text, pack, tokenise
from bench.data_reader import Pass, Read, Reader, together
from bench.data_report import Figures, render
from bench.data_sources import BUFFER, OURS, PARQUET, TEXT, TokenSource
from bench.data_task import BATCH, SEQUENCE_LENGTH, write_task
from bench.data_turn import Continued, Turn, continued

MIB = 2**20


def test_packed_sequences_are_those_of_the_token_file(tmp_path: Path) -> None:
    task = write_task(tmp_path, 60_000)
    tokens = Reader().prepare(task)
    texts = [json.loads(line)["text"] for file in sorted(task.documents.iterdir()) for line in file.open()]

    packed = tokenise({"text": np.array(texts, dtype=object)}, str(task.tokenizer), SEQUENCE_LENGTH)["ids"]
    ids = tokens.map(tmp_path / "results" / ".tokens")

    assert end_of_text(str(task.tokenizer)) == tokens.end
    assert packed.shape == ((tokens.count - 1) // SEQUENCE_LENGTH, SEQUENCE_LENGTH + 1)
    assert packed[1].tolist() == ids[SEQUENCE_LENGTH : 2 * SEQUENCE_LENGTH + 1].tolist()


def test_the_token_file_goes_on_with_the_same_batches_on_fewer_readers(tmp_path: Path) -> None:
    task = write_task(tmp_path, 60_000)
    reader = Reader()
    tokens = reader.prepare(task)

    def read(readers: int, start: int) -> Pass:
        return together(0, [reader.read(TokenSource(task, tokens, rank, readers), start) for rank in range(readers)])

    whole = read(4, 0).marks
    assert whole.shape == ((tokens.count - 1) // SEQUENCE_LENGTH // BATCH, BATCH)
    assert len(np.unique(whole)) == whole.size
    assert continued(whole, 3, read(2, 3).marks) == Continued(same=True, again=0)
    assert not continued(whole, 3, read(2, 4).marks).same


def test_sequences_are_cut_with_one_id_shared() -> None:
    documents = [np.arange(3, dtype=np.int32), np.arange(3, 8, dtype=np.int32)]
    assert pack(documents, 3).tolist() == [[0, 1, 2, 3], [3, 4, 5, 6]]
    assert pack([np.arange(3, dtype=np.int32)], 3).shape == (0, 4)


def test_a_pass_ends_with_its_slowest_reader() -> None:
    reads = [Read(12, 20, np.ones((5, 2), dtype=np.int64)), Read(13, 17, np.zeros((4, 2), dtype=np.int64))]
    found = together(10, reads)
    assert (found.first_seconds, found.seconds, found.per_second) == (3, 10, 12 / 7)
    assert found.marks.tolist() == [[1, 1, 0, 0]] * 4


def test_batches_are_compared_as_sets() -> None:
    whole = np.array([[1, 2], [3, 4], [5, 6], [7, 8]])
    assert continued(whole, 2, np.array([[6, 5], [7, 8]])) == Continued(same=True, again=0)
    assert continued(whole, 2, np.array([[5, 7], [6, 8]])) == Continued(same=False, again=0)
    assert continued(whole, 2, np.array([[1, 5], [7, 2]])) == Continued(same=False, again=0.5)


def test_memory_is_of_descendants_and_of_this_process() -> None:
    assert data_memory.below(1, {2: 1, 3: 2, 4: 9, 1: 0}) == {2, 3}
    assert data_memory.proportional_bytes(Path(f"/proc/{os.getpid()}")) > 10 * MIB
    assert data_memory.proportional_bytes(Path("/proc/none")) == 0


def turn(scale: float, same: bool, again: float) -> Turn:
    peak = data_memory.Peak(int(400 * MIB * scale), int(500 * MIB * scale))
    after = Continued(same, again)
    return Turn(3 * scale, 0.02 * scale, 0.01 * scale, scale, 1000 / scale, 3904, peak, Continued(True, 0), after)


FIGURES = Figures(
    {
        OURS: [turn(1, True, 0), turn(1, True, 0), turn(9, True, 0)],
        TEXT: [turn(2, True, 0), turn(300, True, 0), turn(150, False, 0.5)],
        PARQUET: [turn(2, False, 0.4)] * 3,
        BUFFER: [turn(0.5, True, 0)] * 3,
    }
)


def test_the_tables_hold_medians_and_ratios_and_nothing_is_cut_at_80_columns() -> None:
    console = Console(width=80)
    with console.capture() as captured:
        console.print(render(FIGURES))
    printed = captured.get()
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in printed.splitlines() if line[0] == "│"]
    assert "…" not in printed
    assert rows[1] == [TEXT, "450.0", "150", "3.000", "150", "1.500", "150"]
    assert rows[4] == [OURS, "1.00", "1.00", "1,000", "1.00"]
    assert rows[9] == [TEXT, "same", "0.0%", "others", "50.0%"]
    assert rows[11] == [BUFFER, "same", "0.0%", "same", "0.0%"]
    assert rows[14] == [PARQUET, "800", "2.00", "1,000", "2.00"]


def test_the_json_holds_all_figures_and_what_follows_from_them() -> None:
    read = json.loads(json.dumps(FIGURES.as_json()))
    assert read["turns"][TEXT][0] == dataclasses.asdict(FIGURES.turns[TEXT][0])
    assert read["ratios"][TEXT]["first time"] == 150
    assert read["same"][TEXT] == {"2 to 2 readers": True, "4 to 2 readers": False}


def test_no_rounds_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        data.main(["--rounds", "0"])

    assert re.search(r"(?s)--rounds = 0.*expected: 1 or more.*to do:", capsys.readouterr().err)
