"""One small change to a valid environment for each rule, or several where a rule has several reasons."""

from tests.unit.checks.mutants_of_objects import OBJECTS
from tests.unit.checks.mutants_of_settings import DATES, SETTINGS
from tests.unit.checks.mutants_of_templates import TEMPLATES

MUTANTS = (*SETTINGS, *OBJECTS, *TEMPLATES, *DATES)
