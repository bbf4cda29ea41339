"""``--write``: region and zones into the environment's file."""

import tomlkit
from rich.console import Console

from environments.settings import Settings
from ops.capacity.recommend import Recommendation
from ops.environment_file import change, set_place
from ops.reporting import say


def write(target: Settings, found: Recommendation, console: Console) -> None:
    """Write the recommended region and zones.

    Raises:
        SettingsError: the file would not be valid; it is left as it was.
    """
    gone: list[str] = []

    def edit(document: tomlkit.TOMLDocument) -> None:
        gone.extend(set_place(document, found.region, found.zones))

    change(target.name, edit)

    say(console, f"Written to environments/{target.name}.toml: region {found.region}, zones {', '.join(found.zones)}")
    for line in gone:
        say(console, f"  removed, for it named other zones: {line}")
    if (target.region, target.network.availability_zones) != (found.region, found.zones):
        say(
            console,
            f"  Were {target.cluster_name}'s stacks deployed before? network.availability_zones cannot change then: "
            f"npx cdk destroy --all -c environment={target.name} with the old file first.",
        )
