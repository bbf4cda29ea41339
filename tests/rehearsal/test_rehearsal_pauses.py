import os
import subprocess
import sys
from pathlib import Path

import pytest

from rehearsal.cdk import SHORT_PAUSES

NODE = Path(sys.executable).parent / "node"


@pytest.mark.parametrize(("asked", "given"), [(5000, 250), (2000, 250), (100, 100), (30_000, 30_000)])
def test_only_the_pauses_between_two_looks_are_shortened(asked: int, given: int) -> None:
    program = f"const t = setTimeout(() => 0, {asked}); console.log(t._idleTimeout); clearTimeout(t)"
    options = {"NODE_OPTIONS": f'--require "{SHORT_PAUSES}"'}
    ended = subprocess.run(
        [NODE, "-e", program], env=os.environ | options, capture_output=True, text=True, check=True, timeout=60
    )
    assert ended.stdout.split() == [str(given)]
