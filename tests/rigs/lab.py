"""A real JupyterLab with a real Chromium in front of it; everything is awaited by events, never by a clock.

with Lab.start(folder) as lab:
    lab.write("a.ipynb", ["1 + 1"])
    with lab.open("a.ipynb") as notebook:
        notebook.run_all()
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.rigs.notebook import Notebook, write_notebook
from tests.rigs.overlay import overlay

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

ROOT: Final = Path(__file__).parents[2]
READY_S: Final = 120.0

FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)

QUIET: Final = {
    # The news toast would cover the lower right corner of every picture.
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True},
    # A save must be one that the test asked for.
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}


def chromium() -> str:
    """The Chromium or Chrome of this machine; `CHROMIUM` names another."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise RuntimeError("no Chromium on PATH; install one (Debian: apt-get install chromium) or name it in CHROMIUM")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """One server with its own configuration, data, runtime and settings; `root` is the folder that it serves."""

    root: Path
    base_url: str
    token: str
    browser: BrowserContext
    process: subprocess.Popen[bytes]
    log: Path

    @classmethod
    @contextlib.contextmanager
    def start(
        cls,
        root: Path,
        *,
        ipykernel: str | None = None,
        env: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
    ) -> Iterator[Lab]:
        """A server whose kernels have `env` and, where one is named, another version of ipykernel; and a browser."""
        from playwright.sync_api import sync_playwright

        with contextlib.ExitStack() as stack:
            home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lab-", ignore_cleanup_errors=True)))
            _settle_in(home, ipykernel, env or {})
            port, token, log = _free_port(), secrets.token_hex(16), home / "server.log"
            process = stack.enter_context(_server(root, home, port, token, options))
            base_url = f"http://127.0.0.1:{port}/"
            _wait_up(base_url, token, process, log)
            playwright = stack.enter_context(sync_playwright())
            chrome = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS), headless=True)
            stack.callback(chrome.close)
            browser = chrome.new_context()  # shared, so that the second page finds JupyterLab's scripts in the cache
            yield cls(root=root, base_url=base_url, token=token, browser=browser, process=process, log=log)

    def url(self, path: str) -> str:
        """An address of this server, token included."""
        return f"{self.base_url}{path}{'&' if '?' in path else '?'}token={self.token}"

    def write(self, name: str, cells: Sequence[str]) -> Path:
        """Writes a notebook of these code cells into the served folder."""
        return write_notebook(self.root / name, cells)

    @contextlib.contextmanager
    def open(self, name: str, *, width: int = 1200, height: int = 1000) -> Iterator[Notebook]:
        """A page of its own with that notebook, its kernel started and idle."""
        page = self.browser.new_page()
        page.set_viewport_size({"width": width, "height": height})
        try:
            notebook = Notebook(page, self.url(f"lab/tree/{name}?reset"), name)
            notebook.open()
            yield notebook
            notebook.shut_down()
        finally:
            page.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _settle_in(home: Path, ipykernel: str | None, env: Mapping[str, str]) -> None:
    """Lays the server's folders: settings that keep it quiet, and a kernelspec of our own under the usual name."""
    for plugin, values in QUIET.items():
        target = home / "settings" / f"{plugin}.jupyterlab-settings"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(values))
    path = [str(overlay(ipykernel))] if ipykernel else []
    spec = {
        "argv": [sys.executable, "-Xfrozen_modules=off", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "Python 3",
        "language": "python",
        "env": {"PYTHONPATH": os.pathsep.join([*path, str(ROOT)]), **env},
    }
    place = home / "share" / "kernels" / "python3"
    place.mkdir(parents=True)
    (place / "kernel.json").write_text(json.dumps(spec))


def _environment(home: Path) -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "IPYTHON", "DVERGR", "PYTEST", "PYTHON"))}
    return env | {
        "JUPYTER_PATH": str(home / "share"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "IPYTHONDIR": str(home / "ipython"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
    }


@contextlib.contextmanager
def _server(root: Path, home: Path, port: int, token: str, options: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """The server's process group, ended with all its kernels on leaving."""
    command = [
        sys.executable,
        *("-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}"),
        *("--ServerApp.port_retries=0", f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={root}"),
        "--expose-app-in-browser",  # window.jupyterapp, which the notebook rig talks to
        *("--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"),
        "--LabApp.extension_manager=readonly",  # asks no package index
        "--KernelSpecManager.ensure_native_kernel=False",  # or python3 would be the server's own environment
        *options,
    ]
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(
            command, env=_environment(home), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM lets the server shut its kernels down, which have process groups of their own."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(20)


def _wait_up(base_url: str, token: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Returns when the server answers; nothing announces that moment, so it is asked again and again."""
    request = urllib.request.Request(f"{base_url}api/status?token={token}")  # noqa: S310 (our own loopback address)
    for _ in range(int(READY_S / 0.2)):
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(request, timeout=5):  # noqa: S310
                return
        except (urllib.error.URLError, TimeoutError):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.2)
    raise RuntimeError("JupyterLab did not start:\n" + log.read_text()[-4000:])
