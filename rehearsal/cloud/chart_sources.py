"""Where each Helm chart comes from: a given folder, its repository where that answers, or a stand-in."""

import os
import re
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rehearsal.cloud.errors import RefusedError

# As --charts, it asks no repository for the charts that it has.
STAND_INS = Path(__file__).parent / "charts"
# In all, also where names are not resolved or nothing answers: an offline run must not wait for the network.
MOST_SECONDS = 1.5
# What helm needs of this machine to reach a repository.
_VARIABLES = (
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR"),
)
# helm's own words, of a repository that answers well and lacks what is asked for: no stand-in hides a wrong pin.
_LACKS = re.compile(r'chart "[^"]*"( version "[^"]*")? not found in ')


@dataclass
class Probe:
    """A look at a repository's index: ``why_not`` is None once it has answered well."""

    started: float = field(default_factory=time.monotonic)
    why_not: str | None = f"no answer within {MOST_SECONDS} s"
    done: threading.Event = field(default_factory=threading.Event)


@dataclass
class Charts:
    """Chooses charts. ``folder`` is the one that the user gave; ``note`` is told each choice, with its reason."""

    folder: Path | None
    note: Callable[[str], None]
    _probes: dict[str, Probe] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def look_at(self, charts: Iterable[tuple[str, str]]) -> None:
        """Begin to ask the repositories of charts, all at once, for what ``choose`` will want to know."""
        for repository, name in charts:
            if self._given(name) is None:
                self._probe(repository)

    def choose(self, repository: str, name: str, version: str | None) -> dict[str, Any]:
        """Return ``chart``, a local folder or None for the repository's own, and ``environment`` to pull that with.

        Who is sent to the repository says with ``pulled`` how that went. Raises RefusedError where nobody has the
        chart, and where a folder has another version of it.
        """
        if (chart := self._given(name)) is not None:
            if chart.parent == STAND_INS:
                return self._stand_in(name, version, "--charts names the stand-ins")
            _check_version(chart, version)
            self.note(f"chart {name} {version}: from {chart}, for --charts goes before the repository")
            return {"chart": str(chart), "environment": {}}
        why_not = self._why_not(repository)
        if why_not is None:
            return {"chart": None, "environment": {name: os.environ[name] for name in _VARIABLES if name in os.environ}}
        return self._stand_in(name, version, f"{repository}: {why_not}")

    def pulled(self, repository: str, name: str, version: str | None, error: str | None) -> dict[str, Any]:
        """Take note that helm has the chart from its repository; or, with an ``error``, answer as ``choose`` does.

        Raises RefusedError where the repository has no such chart or version.
        """
        if error is None:
            self.note(f"chart {name} {version}: from its repository {repository}")
            return {}
        if _LACKS.search(error):
            raise RefusedError(f"{error}: correct the version, or put the chart's folder into --charts")
        return self._stand_in(name, version, f"{repository}: {error}")

    def _given(self, name: str) -> Path | None:
        chart = None if self.folder is None else self.folder.resolve() / name
        return chart if chart is not None and (chart / "Chart.yaml").exists() else None

    def _stand_in(self, name: str, version: str | None, why: str) -> dict[str, Any]:
        chart = STAND_INS / name
        if not (chart / "Chart.yaml").exists():
            raise RefusedError(f"no chart {name}: {why}; there is no stand-in; put its folder into --charts")
        self.note(f"STAND-IN for the chart {name} {version}: not the real one ({why})")
        return {"chart": str(chart), "environment": {}}

    def _probe(self, url: str) -> Probe:
        with self._lock:
            if url not in self._probes:
                self._probes[url] = Probe()
                thread = threading.Thread(
                    target=_ask, args=(url, self._probes[url]), name=f"index of {url}", daemon=True
                )
                thread.start()
            return self._probes[url]

    def _why_not(self, url: str) -> str | None:
        probe = self._probe(url)
        probe.done.wait(max(0.0, probe.started + MOST_SECONDS - time.monotonic()))
        return probe.why_not


def charts_of(resources: Mapping[str, Mapping[str, Any]]) -> set[tuple[str, str]]:
    """Return the (repository, chart) pairs that a template's resources name literally."""
    named = [
        (resource.get("Properties", {}).get("Repository"), resource.get("Properties", {}).get("Chart"))
        for resource in resources.values()
        if resource["Type"] == "Custom::AWSCDK-EKS-HelmChart"
    ]
    return {
        (url, chart)
        for url, chart in named
        if isinstance(url, str) and isinstance(chart, str) and url.startswith(("http://", "https://"))
    }


def _ask(url: str, probe: Probe) -> None:
    index = f"{url.rstrip('/')}/index.yaml"
    try:
        with urllib.request.urlopen(index, timeout=MOST_SECONDS) as answer:  # noqa: S310 - a repository of the template
            answer.read(1)
        probe.why_not = None
    except (OSError, ValueError) as error:
        # urllib wraps what went wrong.
        probe.why_not = " ".join(str(getattr(error, "reason", error)).split())
    probe.done.set()


def _check_version(chart: Path, version: str | None) -> None:
    found = re.search(r"^version:\s*[\"']?([^\s\"']+)", (chart / "Chart.yaml").read_text(), re.MULTILINE)
    has = found.group(1) if found else "unknown"
    if version and has.lstrip("v") != version.lstrip("v"):
        raise RefusedError(f"{chart} is version {has}, {version} is wanted")
