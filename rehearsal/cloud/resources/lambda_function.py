"""AWS::Lambda::Function."""

from typing import Any

from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.functions.definitions import Function, Package
from rehearsal.cloud.resources.base import Made, Request, ResourceType, ignored

_LONGEST_SECONDS = 900
_RUNTIMES = ("python3.11", "python3.12", "python3.13", "python3.14", "nodejs20.x", "nodejs22.x", "nodejs24.x")


class LambdaFunction(ResourceType):
    """A function, which runs as a local process; its memory and its place in a VPC are not emulated."""

    type = "AWS::Lambda::Function"
    properties = frozenset(
        {"Code", "Environment", "FunctionName", "Handler", "Layers", "LoggingConfig", "Role", "Runtime", "Timeout"}
    )
    harmless = ignored(
        Description="words",
        MemorySize="a process takes what it needs",
        Tags="nothing reads them",
        VpcConfig="checked, but a local process has no VPC",
    )
    replaced_by = frozenset({"FunctionName"})
    updated_by = frozenset({"Code", "Environment", "Handler", "Layers", "LoggingConfig", "Role", "Runtime", "Timeout"})

    def create(self, request: Request) -> Made:
        """Create it; refused where its code, role, layers or network do not exist."""
        return self._put(request.name("FunctionName", 64), request.properties)

    def update(self, made: Made, request: Request, old: dict[str, Any]) -> Made:
        """Change it."""
        return self._put(made.physical_id, request.properties)

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it."""
        self.account.functions.by_arn.pop(self.account.arn("lambda", f"function:{physical_id}"), None)

    def _put(self, name: str, wanted: dict[str, Any]) -> Made:
        code, timeout = wanted["Code"], int(wanted.get("Timeout", 3))
        if code.keys() != {"S3Bucket", "S3Key"}:
            raise RefusedError(f"AWS::Lambda::Function: the rehearsal does not emulate Code with {sorted(code)}")
        self.account.client("s3").head_object(Bucket=code["S3Bucket"], Key=code["S3Key"])
        if wanted["Runtime"] not in _RUNTIMES:
            raise RefusedError(f"The runtime parameter of {wanted['Runtime']} is not supported. Known: {_RUNTIMES}")
        if not 1 <= timeout <= _LONGEST_SECONDS:
            raise RefusedError(
                f"Value '{timeout}' at 'timeout' failed to satisfy constraint: at most {_LONGEST_SECONDS}"
            )
        self.account.client("iam").get_role(RoleName=wanted["Role"].rsplit("/", 1)[-1])
        if unknown := [arn for arn in wanted.get("Layers", []) if arn not in self.account.functions.layers]:
            raise RefusedError(f"Layer version {unknown} does not exist.")
        if vpc := wanted.get("VpcConfig"):
            ec2 = self.account.client("ec2")
            ec2.describe_subnets(SubnetIds=vpc["SubnetIds"])
            ec2.describe_security_groups(GroupIds=vpc["SecurityGroupIds"])
        arn = self.account.arn("lambda", f"function:{name}")
        self.account.functions.by_arn[arn] = Function(
            name=name,
            arn=arn,
            role=wanted["Role"],
            runtime=wanted["Runtime"],
            handler=wanted["Handler"],
            timeout=timeout,
            code=Package(bucket=code["S3Bucket"], key=code["S3Key"]),
            log_group=wanted.get("LoggingConfig", {}).get("LogGroup", f"/aws/lambda/{name}"),
            environment=dict(wanted.get("Environment", {}).get("Variables", {})),
            layers=tuple(wanted.get("Layers", [])),
        )
        return Made(name, {"Arn": arn})
