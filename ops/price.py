"""What instances cost, as the instance table knows it, and of which region and day the figure is."""

from eks_ray_train.instance_types import InstanceType


def usd_per_hour(instance: InstanceType, count: int) -> float | None:
    """US dollars per hour of a group on demand, None where the type has no On-Demand price."""
    return None if instance.usd_per_hour is None else instance.usd_per_hour * count


def price_text(instance: InstanceType, count: int) -> str:
    """The price in words: ``$9.20 an hour (on demand in us-east-2, 2026-07-20; other regions differ)``."""
    price = usd_per_hour(instance, count)
    if price is None:
        return f"a price that is not known ({instance.name} has none on demand)"
    return f"${price:.2f} an hour (on demand in {instance.price_region}, {instance.price_date}; other regions differ)"
