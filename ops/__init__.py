"""The ``raytrain`` command line: what a person does around ``cdk deploy``."""
