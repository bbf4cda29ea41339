"""The loss, drawn in the terminal and as a PNG."""

from collections.abc import Sequence
from pathlib import Path

EIGHTHS = " ▁▂▃▄▅▆▇█"


def bars(values: Sequence[float], width: int = 64, height: int = 8) -> list[str]:
    """Draw `values` as columns: `height` lines of text, at most `width` wide, with the scale at the left."""
    columns = [
        _mean(values[i * len(values) // n : (i + 1) * len(values) // n])
        for n in [min(width, len(values))]
        for i in range(n)
    ]
    top, bottom = max(columns), min(0.0, min(columns))
    span = (top - bottom) or 1.0
    lines = []
    for row in range(height - 1, -1, -1):
        filled = [(value - bottom) / span * height - row for value in columns]
        text = "".join(EIGHTHS[round(min(max(part, 0.0), 1.0) * 8)] for part in filled)
        scale = f"{bottom + span * (row + 1) / height:7.2f} " if row in (height - 1, 0) else " " * 8
        lines.append(scale + text)
    return lines


def save_png(losses: Sequence[float], title: str, file: Path) -> None:
    """Draw the loss of each step to `file`."""
    # Figure without pyplot: no display and no global state.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    axes.plot(range(1, len(losses) + 1), losses)
    axes.set(xlabel="step", ylabel="loss (nats per token)", title=title)
    axes.grid(alpha=0.3)
    figure.savefig(file)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
