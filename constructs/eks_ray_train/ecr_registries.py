"""The registries that EKS publishes its images in. Source: EKS user guide, "container image registries for add-ons"."""

_COMMON_ACCOUNT = "602401143452"
_COMMON_REGIONS = (
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-northeast-3",
    "ap-south-1",
    "ap-southeast-1",
    "ap-southeast-2",
    "ca-central-1",
    "eu-central-1",
    "eu-north-1",
    "eu-west-1",
    "eu-west-2",
    "eu-west-3",
    "sa-east-1",
    "us-east-1",
    "us-east-2",
    "us-west-1",
    "us-west-2",
)
_ACCOUNTS = {
    **dict.fromkeys(_COMMON_REGIONS, _COMMON_ACCOUNT),
    "af-south-1": "877085696533",
    "ap-east-1": "800184023465",
    "ap-south-2": "900889452093",
    "ap-southeast-3": "296578399912",
    "ap-southeast-4": "491585149902",
    "ap-southeast-6": "333609536671",
    "ap-southeast-7": "121268973566",
    "ca-west-1": "761377655185",
    "eu-central-2": "900612956339",
    "eu-south-1": "590381155156",
    "eu-south-2": "455263428931",
    "il-central-1": "066635153087",
    "me-central-1": "759879836304",
    "me-south-1": "558608220178",
    "mx-central-1": "730335286997",
    "us-gov-east-1": "151742754352",
    "us-gov-west-1": "013241004608",
}
REGIONS = tuple(sorted(_ACCOUNTS))


def eks_registry(region: str) -> str:
    """The host of EKS's image registry in a region of ``REGIONS``."""
    return f"{_ACCOUNTS[region]}.dkr.ecr.{region}.amazonaws.com"
