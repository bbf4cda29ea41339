"""The steps of a deploy, from synthesised templates: what refers to what, and which stack needs which."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ops.timeline.durations import Duration, Durations
from ops.timeline.simulate import Step

Json = Mapping[str, Any]
Pick = Callable[[Duration], int]
START = "change set"
IMAGE_ON_GPU_NODES = "image pull: GPU nodes"
IMAGE_ON_HEAD = "image pull: Ray head"
_ROLES = {"gpu-worker": IMAGE_ON_GPU_NODES, "system": IMAGE_ON_HEAD}


def typical(duration: Duration) -> int:
    """Seconds that something usually takes; ``deploy_steps`` can be given the shortest or the longest instead."""
    return duration.seconds


def deploy_steps(templates: Mapping[str, Json], durations: Durations, pick: Pick = typical) -> list[Step]:
    """Every resource as a step, a stack's own start before all of its others, and the two image pulls.

    Nodes begin to pull when a prefetch for them is applied, else when the RayCluster is. The fabric check waits for the
    GPU nodes; no stack waits for the head's.
    """
    steps = []
    for stack, template in templates.items():
        start = step_id(stack, START)
        steps.append(Step(id=start, stack=stack, label=START, seconds=pick(durations.of(START, stack))))
        resources = template["Resources"]
        for logical_id, resource in resources.items():
            needed = sorted({name for name in _references(resource) if name in resources and name != logical_id})
            steps.append(
                Step(
                    id=step_id(stack, logical_id),
                    stack=stack,
                    label=_label(resource),
                    seconds=pick(durations.of(resource["Type"], stack)),
                    after=(start, *(step_id(stack, name) for name in needed)),
                )
            )
    return [*_wait_for_the_image(steps), *_image_pulls(templates, pick(durations.image_pull))]


def step_id(stack: str, logical_id: str) -> str:
    """How a resource is named among the steps."""
    return f"{stack}/{logical_id}"


def _references(value: Any) -> Iterator[str]:
    """Logical ids (and names of parameters) that a part of a template refers to."""
    if isinstance(value, list):
        for item in value:
            yield from _references(item)
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        if key == "Ref":
            yield item
        elif key == "Fn::GetAtt":
            yield item[0] if isinstance(item, list) else item.split(".")[0]
        elif key == "DependsOn":
            yield from [item] if isinstance(item, str) else item
        else:
            yield from _references(item)


def _label(resource: Json) -> str:
    properties = resource.get("Properties", {})
    kind = str(resource["Type"]).removeprefix("AWS::").removeprefix("Custom::").removeprefix("AWSCDK-EKS-")
    detail = properties.get("Release") or properties.get("AddonName") or ""
    return f"{kind} {detail}".strip() if isinstance(detail, str) else kind


def _image_pulls(templates: Mapping[str, Json], seconds: int) -> Iterator[Step]:
    by_prefetch = {role: _manifest_with(templates, '"image-prefetch', f'"role":"{role}"') for role in _ROLES}
    # Nodes that nothing makes pull before do so for the pod that needs the image.
    at_last = _manifest_with(templates, '"kind":"RayCluster"')
    for role, id in _ROLES.items():
        after = by_prefetch[role] or at_last
        if after:
            yield Step(id=id, stack="", label=id, seconds=seconds, after=(after,))


def _manifest_with(templates: Mapping[str, Json], *texts: str) -> str | None:
    for stack, template in templates.items():
        for logical_id, resource in template["Resources"].items():
            if resource["Type"] == "Custom::AWSCDK-EKS-KubernetesResource":
                manifest = _text(resource["Properties"]["Manifest"])
                if all(text in manifest for text in texts):
                    return step_id(stack, logical_id)
    return None


def _text(manifest: Any) -> str:
    """A manifest as JSON; what only a deploy resolves is left out."""
    return manifest if isinstance(manifest, str) else "".join(p for p in manifest["Fn::Join"][1] if isinstance(p, str))


def _wait_for_the_image(steps: list[Step]) -> Iterator[Step]:
    for step in steps:
        if step.label == "KubernetesObjectValue" and step.stack == "Training":
            yield Step(
                id=step.id,
                stack=step.stack,
                label="fabric check",
                seconds=step.seconds,
                after=(*step.after, IMAGE_ON_GPU_NODES),
            )
        else:
            yield step
