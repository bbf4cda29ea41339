"""Availability Zones that EKS refuses.

Source: EKS user guide, "VPC and subnet requirements": the disallowed zone ids. Which name an id has differs between
accounts, so a name alone proves nothing; but most accounts have one mapping.
"""

from collections.abc import Iterator

from eks_ray_train.checks.finding import Problem, Severity
from eks_ray_train.checks.rule import Phase, Subject, rule

DISALLOWED_ZONE_IDS = {"us-east-1": "use1-az3", "us-west-1": "usw1-az2", "ca-central-1": "cac1-az3"}
# In the other two regions, new accounts are not shown the zone at all.
USUAL_NAMES = {"us-east-1e": "use1-az3"}


@rule(
    "zone-eks",
    "no zone is one in which EKS places no control plane",
    phase=Phase.SETTINGS,
    severity=Severity.WARNING,
)
def eks_takes_the_zones(subject: Subject) -> Iterator[Problem]:
    """EKS refuses the whole cluster for one such subnet, after the VPC exists."""
    for zone in subject.settings.network.availability_zones:
        if zone in USUAL_NAMES:
            yield Problem(
                field="network.availability_zones",
                value=zone,
                expected=f"no zone with the id {USUAL_NAMES[zone]}, in which EKS places no control plane; in most "
                f"accounts {zone} is that one, and the cluster would fail once the network exists",
                remedy=f"name another zone, or look: aws ec2 describe-availability-zones --region "
                f"{subject.settings.region} --query 'AvailabilityZones[].[ZoneName,ZoneId]'",
            )
