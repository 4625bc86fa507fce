"""Files inside one folder: what an agent may do there, and every way out of it that is refused."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import stat
import threading

import pytest

from dvergr_nb.actors.tools.files import files
from dvergr_nb.actors.tools.folder import FILE_BYTES
from dvergr_nb.errors import BadInput
from tests.tools.uses import told, used


@pytest.fixture
def inside(tmp_path):
    """The folder, its tools by name, and a secret beside it."""
    folder = tmp_path / "data"
    (folder / "notes").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("outside")
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    (folder / "notes" / "b.md").write_text("bee")
    return folder, {tool.name: tool for tool in files(folder)}


async def test_a_file_is_read_whole_or_by_lines(inside):
    _, tools = inside
    read = tools["read_file"]
    assert await told(read, path="a.txt") == "one\ntwo\nthree\n"
    assert await told(read, path="./notes//b.md") == "bee"
    assert await told(read, path="a.txt", offset=1, limit=1) == "two\n\n[lines 2 to 2 of 3]"
    assert await told(read, path="a.txt", offset=9) == "[a.txt has 3 lines]"
    assert "from 0" in await told(read, path="a.txt", offset=-1)


async def test_a_file_is_written_with_the_folders_it_needs_and_replaced_whole(inside):
    folder, tools = inside
    write = tools["write_file"]
    assert await told(write, path="new/deep/c.txt", content="é") == "wrote new/deep/c.txt, 2 bytes"
    assert (folder / "new/deep/c.txt").read_text() == "é"
    (folder / "a.txt").chmod(0o640)
    assert await told(write, path="a.txt", content="") == "replaced a.txt, 0 bytes"
    assert stat.S_IMODE((folder / "a.txt").stat().st_mode) == 0o640
    assert sorted(path.name for path in folder.iterdir()) == ["a.txt", "new", "notes"]


async def test_folders_are_listed_and_searched(inside):
    folder, tools = inside
    (folder / "link").symlink_to("/etc")
    listed = tools["list_files"]
    assert await told(listed) == "a.txt (14 bytes)\nlink (a link, not followed)\nnotes/"
    assert await told(listed, path="notes") == "notes/b.md (3 bytes)"
    assert await told(listed, pattern="*.md") == "notes/b.md (3 bytes)"
    assert await told(listed, pattern="**/*.txt") == "a.txt (14 bytes)"
    assert await told(listed, pattern="*.none") == "nothing there"
    assert "is not there" in await told(listed, path="nowhere")
    assert "refused" in (await used(listed, {"path": "link"})).outcome


async def test_a_long_listing_is_cut_and_says_so(inside):
    folder, tools = inside
    for number in range(510):
        (folder / "notes" / f"{number}.txt").touch()
    assert (await told(tools["list_files"], path="notes")).endswith("[11 more; narrow the pattern]")


WAYS_OUT = [
    "../secret.txt",
    "notes/../../secret.txt",
    "notes/..",
    "/etc/passwd",
    "//etc/passwd",
    "~/x",
    "~root/x",
    "a\0.txt",
    "",
    ".",
    "link-file",
    "link-folder/secret.txt",
    "link-folder/notes/x",
    "link-inside/b.md",
    "link-loop/x",
    "link-loop",
    "notes",
    "pipe",
    "socket",
    "a.txt/x",
    "x" * 300,
    "x/" * 3000,
]


@pytest.mark.parametrize("path", WAYS_OUT)
@pytest.mark.parametrize("name", ["read_file", "write_file"])
async def test_no_path_leads_out_of_the_folder_or_to_what_is_no_file(inside, monkeypatch, name, path):
    folder, tools = inside
    (folder / "link-file").symlink_to(folder.parent / "secret.txt")
    (folder / "link-folder").symlink_to(folder.parent)
    (folder / "link-inside").symlink_to("notes")
    (folder / "link-loop").symlink_to("link-loop")
    os.mkfifo(folder / "pipe")
    listening = socket.socket(socket.AF_UNIX)
    monkeypatch.chdir(folder)
    listening.bind("socket")
    listening.close()
    content = {"content": "evil"} if name == "write_file" else {}
    turn = await used(tools[name], {"path": path, **content})
    assert turn.outcome[0] == "failed", turn.told
    assert "outside" not in turn.told[0]
    assert str(folder.parent) not in turn.told[0]
    assert (folder.parent / "secret.txt").read_text() == "outside"
    assert sorted(each.name for each in folder.parent.iterdir()) == ["data", "secret.txt"]
    assert (folder / "notes" / "b.md").read_text() == "bee"


async def test_a_link_planted_while_the_tools_work_leads_nowhere(inside):
    folder, tools = inside
    aside, place, ended = folder / "aside", folder / "place", threading.Event()
    place.mkdir()
    (place / "secret.txt").write_text("inside")

    def swap():
        while not ended.is_set():
            with contextlib.suppress(OSError):  # a write has made the folder anew meanwhile
                place.rename(aside)
                place.symlink_to(folder.parent)
            with contextlib.suppress(OSError):
                place.unlink()
            while aside.exists():
                shutil.rmtree(place, ignore_errors=True)
                with contextlib.suppress(OSError):
                    aside.rename(place)

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        answers = {await told(tools["read_file"], path="place/secret.txt") for _ in range(150)}
        for _ in range(150):
            await told(tools["write_file"], path="place/planted.txt", content="x")
    finally:
        ended.set()
        swapping.join()
    assert "inside" in answers
    assert not any("outside" in answer for answer in answers)
    assert sorted(each.name for each in folder.parent.iterdir()) == ["data", "secret.txt"]


async def test_a_link_made_later_in_place_of_a_file_is_replaced_by_no_write(inside):
    folder, tools = inside
    (folder / "a.txt").unlink()
    (folder / "a.txt").symlink_to(folder.parent / "secret.txt")
    assert "is a link" in await told(tools["write_file"], path="a.txt", content="evil")
    assert (folder.parent / "secret.txt").read_text() == "outside"


async def test_binary_and_large_files_are_said_to_be_so(inside):
    folder, tools = inside
    (folder / "b.bin").write_bytes(b"\xff\xfe\x00")
    (folder / "nul.txt").write_bytes(b"a\0b")
    with (folder / "big").open("wb") as file:
        file.truncate(FILE_BYTES + 1)
    assert "is no text: 3 bytes" in await told(tools["read_file"], path="b.bin")
    assert "is no text: 3 bytes" in await told(tools["read_file"], path="nul.txt")
    assert "at most 10,000,000 can be read" in await told(tools["read_file"], path="big")
    assert "at most 10,000,000 bytes" in await told(tools["write_file"], path="c", content="x" * (FILE_BYTES + 1))


def test_a_folder_may_be_for_reading_only(tmp_path):
    assert [tool.name for tool in files(tmp_path, write=False)] == ["read_file", "list_files"]


@pytest.mark.parametrize("folder", ["nowhere", "file", 3, None, "a\0b"])
def test_the_folder_is_there_when_the_tools_are_made(tmp_path, monkeypatch, folder):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="folder that is there"):
        files(folder)
