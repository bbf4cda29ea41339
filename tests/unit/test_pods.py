"""What holds for all pods."""

from tests.objects import all_pods, the_one


def test_gpu_pods_tolerate_the_taint_and_others_do_not() -> None:
    toleration = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    for pod in all_pods():
        gpu = pod["nodeSelector"] == {"role": "gpu-worker"}
        assert pod.get("tolerations", []) == ([toleration] if gpu else [])
        assert gpu or pod["nodeSelector"] == {"role": "system"}


def test_no_pod_gets_a_token_of_the_kubernetes_api() -> None:
    assert [pod["automountServiceAccountToken"] for pod in all_pods()] == [False] * 6
    assert the_one("ServiceAccount")["automountServiceAccountToken"] is False


def test_requests_are_limits_everywhere() -> None:
    for pod in all_pods():
        for container in [*pod["containers"], *pod.get("initContainers", [])]:
            assert container["resources"]["requests"] == container["resources"]["limits"]


def test_no_privilege_escalation() -> None:
    for pod in all_pods():
        for container in [*pod["containers"], *pod.get("initContainers", [])]:
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
