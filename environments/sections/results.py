"""[results]"""

from pydantic import Field

from environments.sections.section import Section


class Results(Section):
    """The bucket that holds what runs produce."""

    keep: bool = Field(description="Write true to keep the bucket when the stacks are destroyed, false to empty it.")
