"""Capacity before the deploy: what the probe will ask, asked while nothing exists yet."""

import boto3
from rich.console import Console

from environments.settings import Settings
from ops.account import Identity
from ops.capacity import conclusion, probe
from ops.capacity.choice import Choice
from ops.capacity.notes import kept
from ops.capacity.reserving import reserve
from ops.capacity.scan import RegionAnswer, scan
from ops.capacity.view import ScanView
from ops.errors import ExitCode, OpsError
from ops.reporting import say


def candidates(settings: Settings) -> list[str]:
    """The zones that the probe may choose, in the settings' order."""
    capacity = settings.capacity
    if capacity.mode == "zone" and capacity.zone is not None:
        return [capacity.zone]
    zones = capacity.zones or settings.network.availability_zones
    return [zone for zone in zones if zone not in capacity.exclude_zones]


def ask(
    session: boto3.Session, settings: Settings, who: Identity, console: Console, *, with_proof: bool, yes: bool
) -> None:
    """Ask the environment's region, and with a proof reserve for a moment.

    Raises:
        OpsError: no zone of the environment can take the nodes.
    """
    gpu = settings.gpu_nodes
    choice = Choice(settings=settings, instance=gpu.instance, count=gpu.count, target=None)
    wanted = probe.group(gpu.instance, gpu.count, owner=who.owner, exclude_zones=choice.excluded)
    view = ScanView(console, [settings.region], f"Room for {wanted.wanted}, account {who.account}")
    with kept() as notes, view.showing():
        answers = [
            _only(candidates(settings), answer)
            for answer in scan(session, [settings.region], wanted, on_answer=view).values()
        ]
    proof = reserve(session, answers, wanted, choice, console, notes, yes=yes) if with_proof else None
    for warning in notes.warnings:
        say(console, f"Note: {warning}")
    (answer,) = answers
    if answer.refused is not None:
        say(console, f"Note: capacity is not known ({answer.refused}); the probe's own role asks again in the deploy.")
        return
    if not answer.usable or (proof is not None and proof.zone is None):
        conclusion.show(console, choice, wanted, answers, [], None, None)
        raise OpsError(
            f"{wanted.wanted} in {', '.join(candidates(settings))}",
            "a zone that offers them, with quota and room",
            "see above; nothing was deployed",
            ExitCode.NO_CAPACITY,
        )


def _only(zones: list[str], answer: RegionAnswer) -> RegionAnswer:
    verdicts = tuple(
        verdict if verdict.rejected or verdict.facts.zone in zones else verdict.reject("not one of the environment's")
        for verdict in answer.verdicts
    )
    return RegionAnswer(
        region=answer.region,
        verdicts=verdicts,
        without_eks=answer.without_eks,
        quota=answer.quota,
        scores_ignored=answer.scores_ignored,
        refused=answer.refused,
    )
