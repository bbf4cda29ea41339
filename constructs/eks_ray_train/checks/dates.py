"""What comes with time. Never part of synthesis: the same commit must give the same answer next year.

Sources: EKS user guide, "Kubernetes version lifecycle" (copied to constructs/eks_ray_train/versions.py); each price has
its date in the instance table.
"""

from collections.abc import Iterator
from datetime import date, timedelta

from eks_ray_train import versions
from eks_ray_train.checks.finding import Problem, Severity
from eks_ray_train.checks.rule import Phase, Subject, rule

_NOTICE_DAYS = 60
_AMI_DAYS = 180
_PRICE_DAYS = 180


@rule("kubernetes-ended", "EKS still takes the Kubernetes version", phase=Phase.DATES)
def support_has_not_ended(subject: Subject) -> Iterator[Problem]:
    """After extended support EKS creates no such cluster, and upgrades those that there are."""
    version = subject.settings.cluster.kubernetes_version
    support = versions.SUPPORT.get(versions.minor_of(version))
    if support and _today(subject) > support.extended:
        yield Problem(
            field="cluster.kubernetes_version",
            value=version,
            expected=f"a version whose extended support lasts; that of {version} ended on {support.extended}",
            remedy=_newer(_today(subject)),
        )


@rule(
    "kubernetes-ending",
    "the Kubernetes version has standard support for two months more",
    phase=Phase.DATES,
    severity=Severity.WARNING,
)
def support_lasts(subject: Subject) -> Iterator[Problem]:
    """With the upgrade policy STANDARD, which is set here, EKS upgrades the control plane by itself then."""
    version = subject.settings.cluster.kubernetes_version
    support = versions.SUPPORT.get(versions.minor_of(version))
    if not support:
        return
    days = (support.standard - _today(subject)).days
    if days < _NOTICE_DAYS and _today(subject) <= support.extended:
        when = f"ends in {days} days" if days >= 0 else f"ended {-days} days ago"
        yield Problem(
            field="cluster.kubernetes_version",
            value=version,
            expected=f"at least {_NOTICE_DAYS} days of standard support; that of {version} {when}, on "
            f"{support.standard}, and EKS then upgrades the control plane by itself, at a time of its own choice",
            remedy=_newer(_today(subject) + timedelta(days=_NOTICE_DAYS)),
        )


@rule("ami-age", "a pinned AMI release is not older than half a year", phase=Phase.DATES, severity=Severity.WARNING)
def ami_is_recent(subject: Subject) -> Iterator[Problem]:
    """Security fixes come with releases, about every week."""
    for section in ("gpu_nodes", "system_nodes"):
        release = getattr(subject.settings, section).ami_release
        if release is None:
            continue
        days = (_today(subject) - versions.release_day(release)).days
        if days > _AMI_DAYS or days < 0:
            age = f"is {days} days old and lacks their fixes" if days > 0 else "is of a day to come"
            yield Problem(
                field=f"{section}.ami_release",
                value=release,
                expected=f"a release of the last {_AMI_DAYS} days; this one {age}",
                remedy="take one from the releases of awslabs/amazon-eks-ami; it replaces the nodes",
            )


@rule("price-age", "the prices are not older than half a year", phase=Phase.DATES, severity=Severity.WARNING)
def prices_are_recent(subject: Subject) -> Iterator[Problem]:
    """Costs are computed from them."""
    for field, nodes in (("gpu_nodes", subject.settings.gpu_nodes), ("system_nodes", subject.settings.system_nodes)):
        days = (_today(subject) - nodes.instance.price_date).days
        if days > _PRICE_DAYS:
            yield Problem(
                field=f"{field}.instance_type",
                value=f"{nodes.instance_type}, priced on {nodes.instance.price_date}",
                expected=f"a price of the last {_PRICE_DAYS} days; raytrain plan and the budget count with this one",
                remedy="bring the price and its date up to date in the instance table",
            )


def _newer(until: date) -> str:
    """Where to go: the newest version that this app knows, unless its own standard support ends before ``until``."""
    newest = versions.SUPPORT[versions.NEWEST_MINOR]
    if newest.standard < until:
        return f"update this app, whose newest Kubernetes version is 1.{versions.NEWEST_MINOR}"
    return f'set kubernetes_version = "1.{versions.NEWEST_MINOR}"; a cluster that runs takes one minor at a time'


def _today(subject: Subject) -> date:
    if subject.today is None:
        raise ValueError("rules about dates need today's")
    return subject.today
