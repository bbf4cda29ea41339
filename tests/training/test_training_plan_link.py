"""The plan's bytes are what crosses a real link between two hosts: network namespaces, so as root only."""

import re
from typing import Any

import pytest

from bench import link
from bench.link_net import why_not

TINY: dict[str, Any] = link.CONFIG | {"num_hidden_layers": 2, "vocab_size": 4096}
needs_namespaces = pytest.mark.skipif(why_not() is not None, reason=str(why_not()).partition("\n")[0])


@needs_namespaces
def test_bytes_across_a_link_are_the_plans() -> None:
    rows = {row.variant.name: row for row in link.measure(TINY, link.WRAP_AT, steps=1, megabits=4000)}
    for row in rows.values():
        # Headers and acknowledgements come on top, and never take anything away.
        assert 1.0 < row.bytes / row.planned < 1.03, row
        assert 1.0 < row.bytes / row.recorded < 1.03, row
    baseline = rows["baseline"].bytes
    assert rows["hsdp"].bytes <= 0.60 * baseline
    assert rows["hsdp, bf16 reduction"].bytes <= 0.33 * baseline


def test_the_table_says_what_was_measured_and_what_planned() -> None:
    rows = []
    for variant in link.VARIANTS:
        sent = variant.planned(link.CONFIG, 2, gloo=True)
        rows.append(link.Measured(variant, sent, sent / 1.01, 0.5, sent))
    measured, planned = link.render(rows, link.CONFIG, 400)
    cells = {table: [list(column.cells) for column in table.columns] for table in (measured, planned)}
    assert cells[measured][2:4] == [["1.010"] * 4, ["1.000"] * 4]
    assert cells[measured][4][0] == "100.0%"
    # The real model's figures, in GB per step and node.
    assert cells[planned][3] == ["9.33", "10.40", "6.17", "3.09"]
    assert cells[planned][4] == ["100.0%", "111.4%", "66.2%", "33.1%"]


def test_nonsense_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        link.main(["--megabits", "0"])
    assert re.search(r"(?s)--megabits = 0.*expected: 1 or more.*to do:", capsys.readouterr().err)
