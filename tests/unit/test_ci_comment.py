"""`.ci/comment` against a stand-in for GitHub's API: one comment on a pull request, which later pushes update."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.unit.ci_scripts import CI, clean

MARKER = "<!-- ours -->"


class GitHub(ThreadingHTTPServer):
    """Stands in for GitHub's API: the comments of pull request 7."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), GitHubHandler)
        self.comments: list[dict[str, Any]] = []
        self.may_comment = True

    def say(self, login: str, body: str) -> None:
        self.comments.append({"id": 100 + len(self.comments), "user": {"login": login}, "body": body})

    def bodies(self, login: str) -> list[str]:
        return [comment["body"] for comment in self.comments if comment["user"]["login"] == login]


class GitHubHandler(BaseHTTPRequestHandler):
    server: GitHub

    def log_message(self, format: str, *args: object) -> None:
        """Keeps the test's output clean."""

    def answer(self, status: int, body: object) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def read(self) -> str:
        body: str = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
        return body

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        assert address.path == "/repos/owner/name/issues/7/comments"
        query = parse_qs(address.query)
        size, page = int(query["per_page"][0]), int(query["page"][0])
        self.answer(200, self.server.comments[size * (page - 1) : size * page])

    def do_POST(self) -> None:
        body = self.read()
        if not self.server.may_comment or self.headers["Authorization"] != "Bearer token":
            self.answer(403, {"message": "Resource not accessible by integration"})
        elif self.path == "/repos/owner/name/issues/7/comments":
            self.server.say("github-actions[bot]", body)
            self.answer(201, {})
        else:
            self.answer(404, {})

    def do_PATCH(self) -> None:
        body = self.read()
        for comment in self.server.comments:
            if self.path == f"/repos/owner/name/issues/comments/{comment['id']}":
                comment["body"] = body
                self.answer(200, {})
                return
        self.answer(404, {})


@pytest.fixture
def github() -> Iterator[GitHub]:
    server = GitHub()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def post(github: GitHub, folder: Path, body: str) -> subprocess.CompletedProcess[str]:
    (folder / "comment.md").write_text(body)
    variables = {
        "GITHUB_API_URL": f"http://127.0.0.1:{github.server_port}",
        "GITHUB_REPOSITORY": "owner/name",
        "GITHUB_TOKEN": "token",
        "PULL_REQUEST": "7",
        "no_proxy": "*",
    }
    command = [sys.executable, str(CI / "comment"), str(folder / "comment.md")]
    return subprocess.run(command, env={**clean(), **variables}, capture_output=True, text=True)


def test_a_later_push_updates_the_one_comment(github: GitHub, tmp_path: Path) -> None:
    for number in range(130):  # more than one page
        github.say("someone", f"remark {number}")
    github.say("someone", f"{MARKER}\nquoted by a person")
    github.say("github-actions[bot]", "another workflow's")

    first = post(github, tmp_path, f"{MARKER}\nfirst ⚠")
    github.say("someone", "thanks")
    second = post(github, tmp_path, f"{MARKER}\nsecond ⚠")

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert github.bodies("github-actions[bot]") == ["another workflow's", f"{MARKER}\nsecond ⚠"]
    assert f"{MARKER}\nquoted by a person" in github.bodies("someone")


def test_a_token_that_may_not_comment_is_no_failure(github: GitHub, tmp_path: Path) -> None:
    github.may_comment = False

    done = post(github, tmp_path, f"{MARKER}\nfrom a fork")

    assert done.returncode == 0, done.stderr
    assert "see the job summary" in done.stdout
    assert github.comments == []
