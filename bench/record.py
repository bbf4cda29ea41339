"""Stands in for an app once: writes down the variables that the CDK command line starts apps with, then fails."""

import json
import os
import sys
from pathlib import Path

variables = {name: value for name, value in os.environ.items() if name.startswith("CDK_")}
(Path(variables["CDK_OUTDIR"]) / "variables.json").write_text(json.dumps(variables))
sys.exit(1)  # there is no assembly for the command line to go on with
