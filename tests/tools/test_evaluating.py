"""Code in a kernel of the agent's own: what it gives, what it may not, and that nothing of it is left."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from dvergr_nb.actors.tools import warden
from dvergr_nb.actors.tools.evaluating import python_eval
from dvergr_nb.errors import BadInput
from dvergr_nb.runtime.body import Done
from tests.rigs.session import Body
from tests.tools.uses import Uses

pytestmark = pytest.mark.kernel


async def gone(pid: int, limit_s: float = 5.0) -> float:
    """How long it took until that process was gone."""
    began = time.monotonic()
    while psutil.pid_exists(pid) and warden.is_alive(psutil.Process(pid)):
        assert time.monotonic() - began < limit_s, f"process {pid} still lives"
        await asyncio.sleep(0.005)
    return time.monotonic() - began


async def until(is_so: Callable[[], bool]) -> None:
    """Returns once it is so; what is waited for happens in another process."""
    while not is_so():  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def told_in(file: Path) -> list[int]:
    """The process ids that an eval has written there."""
    await until(lambda: file.exists() and file.read_text().endswith("."))
    return [int(word) for word in file.read_text().split()[:-1]]  # noqa: ASYNC240  # a line


def evals(*codes: str, **limits) -> Uses:
    tool = python_eval(**limits)
    return Uses(*((tool, {"code": code}) for code in codes))


SLEEPERS = """
import subprocess, os
pids = [subprocess.Popen(["sleep", "1000"], start_new_session=True).pid for _ in range(5)]
# one whose parent has gone
pids += [int(subprocess.run(["sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $!"], capture_output=True).stdout)]
print(os.getpid(), *pids)
"""


async def test_evals_of_one_run_share_variables_and_leave_nothing(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "q7Zr-55d1-0c93")
    monkeypatch.setenv("DATABASE", "postgres://me:q7Zr-55d1-0c93@host/db")
    turn = evals(
        "x = 20 + 1\nprint('hi')\nx * 2",
        "x",
        "1 / 0",
        "input()",
        "import os; sorted(n for n, v in os.environ.items() if 'q7Zr' in v or 'KEY' in n)",
        "print(os.getcwd(), os.getpid())",
        SLEEPERS,
        "from IPython.display import HTML, display; display(HTML('<b onclick=x>bold</b>'))",
        "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()",
        "print('y' * 100_000)",
        "pass",
    )
    await turn.given()
    answers = iter(turn.told)
    assert next(answers) == "hi\n42"
    assert next(answers) == "21"
    failed = next(answers)
    assert "ZeroDivisionError: division by zero" in failed
    assert "\x1b" not in failed
    assert "StdinNotImplementedError" in next(answers)
    assert next(answers) == "[]"
    folder, pid = next(answers).split()
    pids = [int(word) for word in next(answers).split()]
    assert pids[0] == int(pid) != os.getpid()
    html, picture, long = next(answers), next(answers), next(answers)
    assert "text/html, 21 bytes, kept as" in html
    assert "<b" not in html
    assert "image/png" in picture
    assert "100,000 characters in all" in long
    assert next(answers) == "done"
    for each in pids:
        await gone(each)
    await until(lambda: not Path(folder).exists())
    media = [blob.media_type for kept in turn.kept for blob in kept.blobs]
    assert media == ["text/html", "image/png", "text/plain"]
    assert turn.blobs[turn.kept[8].blobs[0].sha256].startswith(b"\x89PNG")
    assert turn.kept[2].status == "failed"


async def test_a_stopped_run_takes_all_processes_of_its_eval_with_it(tmp_path):
    said = tmp_path / "pids"
    turn = evals(
        SLEEPERS
        + f"open({str(said)!r}, 'w').write(' '.join(map(str, [os.getpid(), *pids])) + ' .')\nimport time; time.sleep(1000)"
    )
    turn.begin()
    pids = await told_in(said)
    assert len(pids) == 7
    began = time.monotonic()
    turn.cancel()
    for pid in pids:
        await gone(pid)
    took = time.monotonic() - began
    with pytest.raises(asyncio.CancelledError):
        await turn.given()
    assert took < 0.5
    assert turn.kept[0].status == "cancelled"


async def test_an_eval_that_takes_too_long_is_interrupted_and_its_variables_stay():
    turn = evals("x = 5", "while True: pass", "x", timeout=1.5)
    await turn.given()
    assert "took longer than 1.5 s and was interrupted; variables are still there" in turn.told[1]
    assert turn.told[2] == "5"
    assert turn.kept[1].status == "failed"


async def test_an_eval_that_does_not_stop_loses_its_kernel_and_the_model_is_told():
    stubborn = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"
    turn = evals(stubborn, "x", timeout=1.5)
    await turn.given()
    assert "did not stop, so its kernel was killed; the next eval begins without variables" in turn.told[0]
    assert "NameError" in turn.told[1]


async def test_a_kernel_that_ends_itself_is_said_to_have_ended():
    turn = evals("import os; os._exit(3)", "1 + 1")
    await turn.given()
    assert "the kernel ended with exit status 3; the next eval begins without variables" in turn.told[0]
    assert turn.told[1] == "2"


async def test_an_eval_that_uses_too_much_memory_is_stopped():
    turn = evals("import time\nkept = []\nwhile True: kept.append(b'x' * 20_000_000); time.sleep(.01)", "1 + 1", memory_mb=512)
    await turn.given()
    assert "the kernel used more than 512 MB and was killed" in turn.told[0]
    assert turn.told[1] == "2"


async def test_an_eval_that_prints_without_end_is_interrupted():
    turn = evals("while True: print('y' * 1000)")
    await turn.given()
    assert "printed over 2,000,000 characters and was interrupted" in turn.kept[0].result or turn.kept[0].blobs
    assert turn.outcome == ("failed", "timeout")


async def test_a_kernel_dies_with_the_process_that_has_started_it(tmp_path):
    said = tmp_path / "pids"
    code = SLEEPERS + f"open({str(said)!r}, 'w').write(' '.join(map(str, [os.getpid(), *pids])) + ' .')"
    program = (
        "import asyncio, sys\nfrom tests.tools.test_evaluating import evals\n"
        f"async def main():\n    await evals({code!r}, 'import time; time.sleep(1000)').given()\nasyncio.run(main())"
    )
    process = subprocess.Popen([sys.executable, "-c", program])  # noqa: ASYNC220  # it is there to be killed
    pids = await told_in(said)
    process.kill()
    process.wait()
    for pid in pids:
        await gone(pid)


@pytest.mark.parametrize("limits", [{"timeout": 0}, {"timeout": True}, {"timeout": "3"}, {"memory_mb": 10}, {"memory_mb": 1e3}])
def test_limits_are_numbers(limits):
    with pytest.raises(BadInput, match="python_eval"):
        python_eval(**limits)


async def test_the_kernel_of_a_run_is_gone_when_that_run_has_ended(opened):
    tool, told = python_eval(), []

    async def work(ctx):
        for code in ("import os; pid = os.getpid()", "pid"):
            found = await tool.call({"code": code}, ctx)
            told.append(found.text)
        return Done()

    async with opened() as session:
        await session.start(Body(work), actor="a")
        await gone(int(told[1]))
