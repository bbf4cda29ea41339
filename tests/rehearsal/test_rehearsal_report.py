"""What is drawn and told at the end."""

from pathlib import Path

from rehearsal.phases import Phase, Phases, timeline
from rehearsal.plot import bars, save_png
from rehearsal.report import loss_rows, transport_line


def test_the_transport_is_one_line() -> None:
    sent = {"steps": 3, "node": "a", "predicted_bytes_per_step": 7.4e6}
    assert transport_line({"verdict": "SOCKET", "bytes": sent | {"why": "lo"}}) == (
        "SOCKET proven; a step needs 7.4 MB to leave each pod; not measured: lo"
    )
    assert transport_line({"verdict": "EFA", "bytes": sent | {"measured_bytes_per_step": 7.6e6}}) == (
        "EFA proven; a step needs 7.4 MB to leave each pod; 7.6 MB did"
    )


def test_the_plot_falls_with_the_loss() -> None:
    lines = bars([4.0, 3.0, 2.0, 1.0], height=4)
    assert [line[8:] for line in lines] == ["█   ", "██  ", "███ ", "████"]
    assert lines[0].startswith("   4.00")
    assert len(bars([float(i) for i in range(1000)], width=64)[0]) == 8 + 64
    assert len(bars([1.0])[0]) == 8 + 1


def test_the_png_is_a_png(tmp_path: Path) -> None:
    save_png([3.0, 2.0], "title", tmp_path / "loss.png")
    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")


def test_the_loss_table_has_the_first_and_the_last_step() -> None:
    assert loss_rows(50) == [0, 7, 14, 21, 28, 35, 42, 49]
    assert loss_rows(3) == [0, 1, 2]
    assert loss_rows(1) == [0]


def test_phases_are_timed_and_drawn_on_one_axis() -> None:
    times = iter([0.0, 0.0, 10.0, 10.0, 40.0])
    said: list[str] = []
    phases = Phases(said.append, lambda: next(times))
    with phases.phase("one"):
        pass
    with phases.phase("two"):
        pass
    assert phases.finished == [Phase("one", 0.0, 10.0), Phase("two", 10.0, 30.0)]
    assert timeline(phases.finished, width=8) == ["██", "  ██████"]
    assert len(said) == 4
