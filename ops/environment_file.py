"""Changes an environment's TOML file, keeps its comments, and writes nothing that would not load."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import tomlkit
from tomlkit.items import Table

from environments.loading import FOLDER, load, parse
from environments.settings import Settings


def read(name: str) -> Settings:
    """The environment's settings.

    Raises:
        SettingsError: there is no such environment, or its file is not valid.
    """
    return load(name, FOLDER)


def change(name: str, edit: Callable[[tomlkit.TOMLDocument], None]) -> Settings:
    """Apply ``edit`` to the file of environment ``name`` and return what it says now.

    Raises:
        SettingsError: the file is not valid, or would not be; it is left as it was.
    """
    read(name)
    path = FOLDER / f"{name}.toml"
    document = tomlkit.parse(path.read_text())
    edit(document)
    settings = parse({"name": name, **document.unwrap()}, source=f"environments/{name}.toml, with the change,")
    _replace(path, tomlkit.dumps(document))
    return settings


def set_place(document: tomlkit.TOMLDocument, region: str, zones: tuple[str, ...]) -> list[str]:
    """Set region and zones; what names a zone that is no longer listed goes, and is returned in words."""
    gone = []
    capacity = _table(document, "capacity")
    for key in ("zones", "exclude_zones"):
        named = capacity[key].unwrap() if key in capacity else []
        if any(zone not in zones for zone in named):
            gone.append(f"capacity.{key} = {named}")
            del capacity[key]
    document["region"] = region
    _table(document, "network")["availability_zones"] = list(zones)
    return gone


def exclude_zone(document: tomlkit.TOMLDocument, zone: str) -> None:
    """Add a zone to those that the capacity probe leaves out."""
    capacity = _table(document, "capacity")
    excluded = capacity["exclude_zones"].unwrap() if "exclude_zones" in capacity else []
    capacity["exclude_zones"] = [*excluded, zone]


def _table(document: tomlkit.TOMLDocument, name: str) -> Table:
    table = document[name]
    assert isinstance(table, Table)  # it loaded as one
    return table


def _replace(path: Path, text: str) -> None:
    """Write all or nothing: a file that is half written would lose what a person wrote."""
    handle, written = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        Path(written).chmod(path.stat().st_mode)
        Path(written).replace(path)
    except BaseException:
        Path(written).unlink(missing_ok=True)
        raise
