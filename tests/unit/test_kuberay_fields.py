"""The fields of RayCluster and RayJob that we emit, by KubeRay 1.7's API reference: any other is ignored or refused.

The pods inside are checked against Kubernetes' own schemas in test_kubernetes_schemas.py.
"""

import copy
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.synthesis import ENVIRONMENTS, kubernetes_objects

Json = dict[str, Any]
_TEXT = {"type": "string", "minLength": 1}
_COUNT = {"type": "integer", "minimum": 1}


def _strict(properties: Json, *optional: str) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(properties.keys() - set(optional)),
        "additionalProperties": False,
    }


_TEMPLATE = _strict({"spec": {"type": "object"}})
# rayStartParams are command line flags: numbers are written as text.
_FLAGS = {"type": "object", "additionalProperties": _TEXT}

SCHEMAS = {
    "RayCluster": _strict(
        {
            "rayVersion": {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
            "authOptions": _strict({"mode": {"enum": ["token"]}}),
            "headGroupSpec": _strict(
                {"serviceType": {"enum": ["ClusterIP"]}, "rayStartParams": _FLAGS, "template": _TEMPLATE}
            ),
            "workerGroupSpecs": {
                "type": "array",
                "minItems": 1,
                "items": _strict(
                    {
                        "groupName": _TEXT,
                        "replicas": _COUNT,
                        "minReplicas": _COUNT,
                        "maxReplicas": _COUNT,
                        "rayStartParams": _FLAGS,
                        "template": _TEMPLATE,
                    }
                ),
            },
        }
    ),
    "RayJob": _strict(
        {
            "entrypoint": _TEXT,
            "clusterSelector": _strict({"ray.io/cluster": _TEXT}),
            "submissionMode": {"enum": ["K8sJobMode"]},
            "runtimeEnvYAML": _TEXT,
            "activeDeadlineSeconds": _COUNT,
            "preRunningDeadlineSeconds": _COUNT,
            "submitterConfig": _strict({"backoffLimit": _COUNT}),
            "submitterPodTemplate": _TEMPLATE,
        }
    ),
}


def _errors(kind: str, spec: Json) -> list[str]:
    return [error.message for error in Draft202012Validator(SCHEMAS[kind]).iter_errors(spec)]


@pytest.mark.parametrize("kind", sorted(SCHEMAS))
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_fields_are_kuberays(environment: str, kind: str) -> None:
    (obj,) = kubernetes_objects(environment, kind)
    assert _errors(kind, obj["spec"]) == []
    assert obj["apiVersion"] == "ray.io/v1"


@pytest.mark.parametrize(
    ("kind", "field"),
    [("RayJob", "preRunningDeadlineSeconds"), ("RayCluster", "authOptions"), ("RayJob", "entrypoint")],
)
def test_a_misspelt_field_is_found(kind: str, field: str) -> None:
    (obj,) = kubernetes_objects("dev", kind)
    spec = copy.deepcopy(obj["spec"])
    spec[f"{field}s"] = spec.pop(field)
    assert len(_errors(kind, spec)) == 2


def test_a_number_where_a_flag_is_text_is_found() -> None:
    (obj,) = kubernetes_objects("dev", "RayCluster")
    spec = copy.deepcopy(obj["spec"])
    spec["workerGroupSpecs"][0]["rayStartParams"]["num-gpus"] = 4
    assert _errors("RayCluster", spec) == ["4 is not of type 'string'"]
