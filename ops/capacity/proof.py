"""A reservation as proof, zone after zone, of which nothing stays behind.

The calls run on a thread of their own, so that no signal ends one half-way: Ctrl-C lets the reservation under way be
cancelled, then stops. What this cannot catch (a machine that dies) EC2 ends by itself at the reservation's end date,
and the next run finds it by its tag.
"""

import signal
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType

from ops.account import AWS_ERRORS, denied, explain
from ops.capacity import probe
from ops.errors import OpsError

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, kw_only=True)
class Proof:
    """The zone in which EC2 reserved the group, or None, and what each zone before it answered."""

    zone: str | None
    answers: Mapping[str, str]


def prove(
    wanted: probe.Properties,
    candidates: Sequence[tuple[str, str]],
    clients: Mapping[str, probe.Clients],
    *,
    on_try: Callable[[str], None] = lambda zone: None,
    on_interrupt: Callable[[], None] = lambda: None,
) -> Proof:
    """Reserve and cancel in the candidates, region and zone each, in their order, until one has room.

    Raises:
        ProbeError: a reservation could not be cancelled, or a call was refused for a reason that stays.
        OpsError: a permission is missing, AWS did not answer, or does not say whether a reservation stays.
        KeyboardInterrupt: on a signal, after what was open is cancelled.
    """
    stop = threading.Event()
    ended: list[Proof | Exception] = []

    def work() -> None:
        try:
            ended.append(_try_each(wanted, candidates, clients, stop, on_try))
        except Exception as error:
            ended.append(error)

    thread = threading.Thread(target=work, name="reservation")
    with _signals(stop, on_interrupt):
        thread.start()
        while thread.is_alive():
            thread.join(0.2)
    # First what may still bill: a person who pressed Ctrl-C has to know it all the more.
    if isinstance(ended[0], Exception):
        raise ended[0]
    if stop.is_set():
        raise KeyboardInterrupt
    return ended[0]


def _try_each(
    wanted: probe.Properties,
    candidates: Sequence[tuple[str, str]],
    clients: Mapping[str, probe.Clients],
    stop: threading.Event,
    on_try: Callable[[str], None],
) -> Proof:
    owner = wanted.tags[probe.STACK_TAG]
    request_id = str(uuid.uuid4())
    answers: dict[str, str] = {}
    full: dict[str, str] = {}
    swept: set[str] = set()
    for region, zone in candidates:
        if stop.is_set():
            break
        if region in full:
            answers[zone] = full[region]
            continue
        if region not in swept:
            # What an earlier run left takes room and quota.
            _cancel_open(owner, region, clients[region])
            swept.add(region)
        on_try(zone)
        try:
            reason = _reserve_and_cancel(wanted, zone, request_id, clients[region])
        except probe.ProbeError as error:
            if error.kind != "quota":
                raise
            reason = full[region] = str(error)
        if reason is None:
            return Proof(zone=zone, answers=answers)
        answers[zone] = reason
    return Proof(zone=None, answers=answers)


def _reserve_and_cancel(wanted: probe.Properties, zone: str, request_id: str, clients: probe.Clients) -> str | None:
    owner, region = wanted.tags[probe.STACK_TAG], clients.region
    try:
        reason = probe.reserve_and_cancel(wanted, zone, request_id, clients)
    except Exception as error:
        if isinstance(error, probe.ProbeError) and error.kind == "not-cancelled":
            # It names the reservation. One more try, whose own failure would say less.
            with suppress(probe.ProbeError, *AWS_ERRORS):
                probe.cancel_open(owner, clients)
                if probe.has_ended(str(error.details["reservation_id"]), clients):
                    return "no proof (its reservation could be cancelled only at the second try)"
            raise
        # Also one whose answer never came.
        _cancel_open(owner, region, clients)
        if isinstance(error, probe.ProbeError) and error.kind == "not-authorised":
            raise denied(str(error.details["action"]), region) from error
        if isinstance(error, AWS_ERRORS):
            raise explain(error, region) from error
        raise
    _cancel_open(owner, region, clients)
    return reason


def _cancel_open(owner: str, region: str, clients: probe.Clients) -> None:
    try:
        probe.cancel_open(owner, clients)
    except AWS_ERRORS as error:
        refused = explain(error, region)
        raise OpsError(
            f"{str(refused).splitlines()[0]}: whether a reservation stays open in {region} is not known",
            "a list of the reservations that carry this command's tag",
            f"look, and cancel what is active: aws ec2 describe-capacity-reservations --region {region} --filters "
            f"Name=tag:{probe.STACK_TAG},Values={owner} Name=state,Values=active,pending. EC2 ends each by itself",
            refused.code,
        ) from error


@contextmanager
def _signals(stop: threading.Event, on_interrupt: Callable[[], None]) -> Iterator[None]:
    def handle(number: int, frame: FrameType | None) -> None:
        if not stop.is_set():
            stop.set()
            on_interrupt()

    previous = {number: signal.signal(number, handle) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
