"""[charts]"""

from pydantic import Field

from environments.sections.section import Section, Version


class Charts(Section):
    """Versions of the Helm charts."""

    kuberay_operator: Version = Field(description="Write a version of the kuberay-operator chart, such as 1.7.0.")
    nvidia_device_plugin: Version = Field(
        description="Write a version of the nvidia-device-plugin chart, such as 0.20.0."
    )
    efa_device_plugin: Version = Field(
        description="Write a version of the aws-efa-k8s-device-plugin chart, such as v0.5.32."
    )
