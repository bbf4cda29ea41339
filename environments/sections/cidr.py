"""An IPv4 network, as text."""

import ipaddress
from typing import Annotated

from pydantic import AfterValidator


def _cidr(text: str) -> str:
    try:
        ipaddress.IPv4Network(text)
    except ValueError:
        raise ValueError("an IPv4 network such as 198.51.100.7/32, with no host bits set") from None
    return text


Cidr = Annotated[str, AfterValidator(_cidr)]
