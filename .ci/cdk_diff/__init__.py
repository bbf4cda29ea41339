"""The parts of `.ci/diff`, which runs with Python alone: the tools that it calls are in the virtual environment."""
