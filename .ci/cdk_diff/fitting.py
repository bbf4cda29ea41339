"""Makes diffs fit where there is little room: long lines are cut to what changes, long texts to a share of the room."""

from collections.abc import Sequence

LONG_LINE = 300  # characters; a Kubernetes manifest is one line of a template


def shorten_lines(text: str) -> str:
    """``text`` with long lines cut to where a removed line and the added one below it differ."""
    lines = text.splitlines()
    for index, line in enumerate(lines):
        below = lines[index + 1] if index + 1 < len(lines) else ""
        if len(line) > LONG_LINE and "[-] " in line and "[+] " in below:
            (before, old), (before_new, new) = line.split("[-] ", 1), below.split("[+] ", 1)
            same = common_length(old, new)
            same_end = common_length(old[same:][::-1], new[same:][::-1])
            lines[index] = f"{before}[-] {middle(old, same, same_end)}"
            lines[index + 1] = f"{before_new}[+] {middle(new, same, same_end)}"
    return "\n".join(line if len(line) <= 4 * LONG_LINE else f"{line[: 4 * LONG_LINE]} …" for line in lines)


def common_length(one: str, other: str) -> int:
    """How many characters both begin with."""
    return next(
        (index for index, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def middle(value: str, same: int, same_end: int) -> str:
    """``value`` without what both lines begin and end with, but for 60 characters of context."""
    start, end = max(0, same - 60), min(len(value), len(value) - same_end + 60)
    return f"{'… ' if start else ''}{value[start:end]}{' …' if end < len(value) else ''}"


def shares(lengths: Sequence[int], budget: int) -> list[int]:
    """How many characters each text gets: short ones all they need, long ones equal parts of what is left."""
    result = [0] * len(lengths)
    by_length = sorted(range(len(lengths)), key=lambda index: lengths[index])
    for position, index in enumerate(by_length):
        result[index] = max(0, min(lengths[index], budget // (len(lengths) - position)))
        budget -= result[index]
    return result


def cut(text: str, length: int) -> tuple[str, str]:
    """At most ``length`` characters of ``text``, in whole lines, and a notice where that is not all of it."""
    if len(text) <= length:
        return text, ""
    kept = text[: text.rfind("\n", 0, length + 1) + 1].rstrip("\n")
    left_out = len(text.splitlines()) - len(kept.splitlines())
    return kept, f"\n**Cut here: {left_out} more lines. The job's log has all of them.**\n"
