"""The text that `.ci/diff` makes of what the CDK command line says: its counts, and what it cuts to fit a comment."""

import re

from tests.unit.ci_scripts import part_of_diff, rows

comment = part_of_diff("comment")
fitting = part_of_diff("fitting")
report = part_of_diff("report")


def test_only_resources_are_counted_by_what_happens_to_them() -> None:
    text = """Template
[+] Description Description: VPC

IAM Statement Changes
│ - │ ${Results.Arn} │ Allow │

Resources
[-] AWS::S3::Bucket Bkt orphan
[-] Custom::AWSCDK-EKS-KubernetesResource RayTraining/ray-9ea21e4ff5/Resource RayTrainingray9ea21e4ff5B445A098 destroy
[+] AWS::EC2::EIP Network/Vpc/PublicSubnet2/EIP NetworkVpcPublicSubnet2EIP24F41572
[←] AWS::S3::Bucket Import/Resource Import import
[~] AWS::EC2::VPC Network/Vpc NetworkVpc7FB7348F replace
 └─ [~] CidrBlock (requires replacement)
     ├─ [-] 10.9.0.0/16
     └─ [+] 10.0.0.0/16
[~] AWS::EC2::LaunchTemplate Nodes/LaunchTemplate NodesLaunchTemplate5FD055E7 may be replaced
[~] AWS::EKS::Nodegroup Nodes Nodes66C30434

Outputs
[-] Output zzz: {"Value":"AWS::Region destroy"}"""

    assert report.StackDiff("dev", "Gpu", text).count() == (1, 2, 4)


def test_a_long_comment_keeps_its_marker_and_is_cut_with_a_notice_in_the_long_stacks_only() -> None:
    made = report.Report("basis")
    line = "[+] AWS::SNS::Topic Some/Topic/Resource SomeTopic"
    for stack, count in {"Small": 3, "Large": 5000, "Larger": 9000}.items():
        made.add(report.StackDiff("dev", stack, "\n".join([line] * count)))

    text = comment.render(made)

    assert text.startswith(f"{comment.MARKER}\n")
    assert 60_000 < len(text) <= 65_536
    sections = dict(re.findall(r"<summary>dev / (\w+)</summary>(.*?)</details>", text, flags=re.DOTALL))
    assert sections["Small"].count(line) == 3
    assert "Cut here" not in sections["Small"]
    for stack, count in {"Large": 5000, "Larger": 9000}.items():
        assert sections[stack].count(line) > 500
        assert f"Cut here: {count - sections[stack].count(line)} more lines" in sections[stack]
    assert rows(text)["Larger"] == ("9000", "0", "0")


def test_a_diff_with_a_fence_inside_stays_inside_its_section() -> None:
    made = report.Report("basis")
    made.add(report.StackDiff("dev", "Training", "[+] AWS::SNS::Topic A B\n```` and more"))

    fences = [line for line in comment.render(made).splitlines() if line.startswith("`````")]

    assert fences == ["`````text", "`````"]


def test_a_long_line_is_shortened_to_where_it_changes() -> None:
    start, end = '{"kind":"Job",' + "a" * 2000, "b" * 2000 + "}"
    text = f" ├─ [-] {start}completions:2{end}\n └─ [+] {start}completions:3{end}\n └─ [+] short\n{'c' * 5000}"

    old, new, short, lone = fitting.shorten_lines(text).splitlines()

    assert re.fullmatch(r" ├─ \[-\] … a+completions:2b+ …", old)
    assert re.fullmatch(r" └─ \[\+\] … a+completions:3b+ …", new)
    assert len(old) < fitting.LONG_LINE
    assert short == " └─ [+] short"
    assert len(lone) < 5000
    assert lone.endswith(" …")
