"""The JupyterLab rig does what a person at a browser does."""

from __future__ import annotations

import json

import pytest

from tests.rigs.lab import Lab
from tests.rigs.notebook import THEMES

pytestmark = pytest.mark.browser

BUTTON = """
import anywidget, traitlets
class Counter(anywidget.AnyWidget):
    _esm = '''
      export default { render({ model, el }) {
        const b = document.createElement("button");
        b.className = "counter";
        const show = () => { b.textContent = "count " + model.get("n"); };
        b.onclick = () => model.send({ type: "more" });
        model.on("change:n", show); show(); el.append(b);
      } }'''
    n = traitlets.Int(0).tag(sync=True)
    def __init__(self):
        super().__init__()
        self.on_msg(self.heard)
    def heard(self, widget, content, buffers):
        self.n += 1
counter = Counter()
counter
"""


def test_cells_run_and_a_widget_answers_clicks_and_outlives_a_reload(lab: Lab) -> None:
    lab.write("counter.ipynb", [BUTTON, "print('second')"])
    with lab.open("counter.ipynb") as notebook:
        notebook.run_all()
        notebook.page.wait_for_selector("button.counter:has-text('count 0')")
        notebook.page.click("button.counter")
        notebook.page.wait_for_selector("button.counter:has-text('count 1')")
        assert notebook.execute("counter.n")["text"] == "1"
        assert notebook.output(1).inner_text().strip() == "second"
        notebook.save()
        notebook.reload()
        notebook.page.wait_for_selector("button.counter:has-text('count 1')")
        assert notebook.console_errors == []


def test_a_failing_cell_fails_the_test(lab: Lab) -> None:
    lab.write("failing.ipynb", ["1 / 0"])
    with lab.open("failing.ipynb") as notebook:
        with pytest.raises(AssertionError, match="ZeroDivisionError"):
            notebook.run_all()
        notebook.run_all(may_fail=True)
        assert notebook.errors() == ["ZeroDivisionError: division by zero"]


def test_one_cell_runs_alone_and_can_be_interrupted(lab: Lab) -> None:
    lab.write("blocking.ipynb", ["x = 1", "import time\nprint('in', flush=True)\nwhile True: time.sleep(0.01)"])
    with lab.open("blocking.ipynb") as notebook:
        notebook.run_cell(0)
        assert notebook.execute("x")["text"] == "1"
        notebook.begin_cell(1)
        notebook.page.wait_for_selector("text=in")
        notebook.interrupt()
        notebook.wait_cells(may_fail=True)
        assert notebook.errors() == ["KeyboardInterrupt: "]


def test_a_restart_forgets_and_a_kill_brings_another_process(lab: Lab) -> None:
    lab.write("life.ipynb", ["x = 1"])
    with lab.open("life.ipynb") as notebook:
        notebook.run_all()
        notebook.restart()
        assert notebook.execute("x", may_fail=True)["error"] == "NameError: name 'x' is not defined"
        pid = notebook.kernel_pid()
        notebook.kill_kernel(pid)
        notebook.wait_restarted()
        assert notebook.kernel_pid() != pid


def test_themes_change_and_pictures_are_taken(lab: Lab) -> None:
    lab.write("themes.ipynb", ["'seen'"])
    with lab.open("themes.ipynb") as notebook:
        notebook.run_all()
        grounds = set()
        for theme in THEMES:
            notebook.theme(theme)
            grounds.add(notebook.page.evaluate("getComputedStyle(document.body).getPropertyValue('--jp-layout-color1')"))
            assert notebook.shot(f"rig-{theme.lower().replace(' ', '-')}").stat().st_size > 5000
        assert len(grounds) == len(THEMES)


def test_the_kernel_is_ours_and_nothing_is_written_to_the_home(lab: Lab) -> None:
    lab.write("place.ipynb", ["import ipykernel, os"])
    with lab.open("place.ipynb") as notebook:
        notebook.run_all()
        keys = ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR")
        told = json.loads(notebook.execute(f"import json\nprint(json.dumps([os.environ[k] for k in {keys}]))")["stdout"])
        assert {path.rsplit("/", 1)[0] for path in told} == {str(lab.log.parent)}
