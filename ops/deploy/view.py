"""The plan and the end of a deploy, for people."""

from collections.abc import Mapping, Sequence

from rich.console import Console

from eks_ray_train.costs import Part, disks, known_total
from environments.settings import Settings
from ops.deploy.bill import Bill
from ops.deploy.plan import Plan
from ops.deploy.stacks import ORDER, Stack
from ops.reporting import say


def show_plan(console: Console, plan: Plan) -> None:
    """Print what a deploy does, and what it costs."""
    settings, gpu = plan.settings, plan.settings.gpu_nodes
    say(console, f"\n{settings.cluster_name} in {settings.region}, account {plan.who.account}")
    for id in ORDER:
        say(console, f"  {id:9} {plan.actions[id]}")
    say(
        console, f"Costs while it exists, US dollars per hour ({gpu.instance.price_region}, {gpu.instance.price_date}):"
    )
    _bill(console, plan.parts)
    say(console, f"  The nodes' disks add about {disks(settings):.2f}; traffic, logs, S3 and tax are not in it.")
    if plan.hold_usd is not None:
        say(
            console, f"Reserved capacity that no node fills would cost ${plan.hold_usd:.2f} at most: it ends by itself."
        )
    if plan.replaces:
        before, after = plan.replaces
        say(console, f"The training job {before} is replaced by {after}: if it still runs, it is stopped.")
    for note in plan.notes:
        say(console, f"Note: {note}")


def question(plan: Plan) -> str:
    """The one question."""
    new = sum(action.startswith("create") for action in plan.actions.values())
    what = f"creates {new} of 5 stacks" if new else "changes what is deployed"
    stop = f", and stops {plan.replaces[0]} if it runs" if plan.replaces else ""
    unknown = f" and {', '.join(plan.unpriced)}" if plan.unpriced else ""
    price = f"${plan.total:.2f}{unknown} an hour in all"
    return f"This {what}, IAM roles and security groups included, at {price}{stop}. Deploy?"


def show_done(console: Console, settings: Settings, stacks: Mapping[str, Stack], bill: Bill) -> None:
    """Print where it is, and what it costs until it is destroyed."""
    run, bucket = stacks["Training"].output("RunName"), stacks["Cluster"].output("ResultsBucketName")
    say(console, f"\nDeployed. GPU nodes: {stacks['Gpu'].output('AvailabilityZone')}; run: {run}")
    say(console, f"Results: s3://{bucket}/runs/{run}/")
    show_standing(console, settings, stacks, bill)


def show_standing(console: Console, settings: Settings, stacks: Mapping[str, Stack], bill: Bill) -> None:
    """Print what exists, what it costs by the hour, and the command that ends it."""
    known = [stack for stack in stacks.values() if stack.status is not None]
    if not known and not bill.held:
        say(console, "\nNothing of it exists: nothing costs.")
        return
    say(console, "\nWhat exists:")
    for stack in known:
        say(console, f"  {stack.name}: {stack.status}")
    if bill.parts:
        say(console, "What it costs, US dollars per hour:")
        _bill(console, bill.parts)
    if bill.unsure:
        say(console, f"  at most, for {', '.join(bill.unsure)} failed half-way: not all of it may be there")
    for text in bill.held:
        say(console, f"  {text}")
    say(console, f"To end it: npx cdk destroy --all -c environment={settings.name}")


def _bill(console: Console, parts: Sequence[Part]) -> None:
    for part in parts:
        each = "unknown" if part.total is None else f"{part.total:8.4f}"
        say(console, f"  {each}  {part.quantity} x {part.name}")
    total, unknown = known_total(parts)
    say(console, f"  {total:8.4f}  in all" + (f", without {', '.join(unknown)}" if unknown else ""))
