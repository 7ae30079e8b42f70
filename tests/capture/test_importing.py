"""Modules are told of when they are imported, and stay as they would have been."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
import zipfile

import pytest

from llmphases.capture.importing import if_imported, when_imported


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The name of a module that can be imported, once more after each `forget`."""
    (tmp_path / "told_of.py").write_text("import sys\nvalue = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "told_of"
    sys.modules.pop("told_of", None)


@pytest.fixture
def told(module):
    found = []
    cancel = when_imported(module, found.append)
    yield found
    cancel()


def test_it_is_told_of_once_it_is_complete(module, told):
    values = []
    cancel = when_imported(module, lambda complete: values.append(complete.value))
    imported = importlib.import_module(module)
    importlib.import_module(module)
    cancel()
    assert told == [imported]
    assert values == [1]


def test_imported_anew_it_is_told_of_anew(module, told):
    first = importlib.import_module(module)
    importlib.reload(first)
    del sys.modules[module]
    second = importlib.import_module(module)
    assert told == [first, first, second]


def test_the_module_is_as_without(module, told):
    imported = importlib.import_module(module)
    del sys.modules[module]
    plain = importlib.util.find_spec(module)
    assert type(imported.__loader__) is type(plain.loader)
    assert "exec_module" not in vars(imported.__loader__)
    assert imported.__spec__.origin == plain.origin


def test_who_only_looks_for_it_does_not_import_it(module, told):
    assert importlib.util.find_spec(module) is not None
    assert told == []
    assert module not in sys.modules


def test_no_more_is_no_more(module):
    found = []
    cancel = when_imported(module, found.append)
    cancel()
    cancel()  # twice is once
    importlib.import_module(module)
    assert found == []


def test_what_fails_to_be_told_does_not_reach_who_imports(module, told, caplog):
    cancel = when_imported(module, lambda _: 1 / 0)
    assert importlib.import_module(module).value == 1
    cancel()
    assert len(told) == 1
    assert "ZeroDivisionError" in caplog.text


def test_a_module_that_fails_is_not_told_of(tmp_path, module, told):
    (tmp_path / "told_of.py").write_text("raise KeyError('its own')\n")
    with pytest.raises(KeyError, match="its own"):
        importlib.import_module(module)
    assert told == []


def test_a_module_that_is_not_there_is_missing_as_ever():
    cancel = when_imported("not_to_be_found", print)
    with pytest.raises(ModuleNotFoundError, match="not_to_be_found"):
        importlib.import_module("not_to_be_found")
    cancel()


def test_a_module_out_of_an_archive_is_told_of_as_well(tmp_path, monkeypatch):
    archive = tmp_path / "some.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("zipped_module.py", "value = 2\n")
    monkeypatch.syspath_prepend(archive)
    found = []
    cancel = when_imported("zipped_module", found.append)
    imported = importlib.import_module("zipped_module")
    cancel()
    del sys.modules["zipped_module"]
    assert found == [imported]
    assert imported.value == 2


def test_a_module_of_a_package_is_told_of(tmp_path, monkeypatch):
    (tmp_path / "told_package").mkdir()
    (tmp_path / "told_package" / "inner.py").write_text("value = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = []
    cancel = when_imported("told_package.inner", found.append)
    imported = importlib.import_module("told_package.inner")
    cancel()
    for name in ("told_package.inner", "told_package"):
        del sys.modules[name]
    assert found == [imported]


def test_wrapt_may_wait_for_the_same_module(module, told):
    import wrapt

    theirs = []
    wrapt.register_post_import_hook(theirs.append, module)
    imported = importlib.import_module(module)
    assert told == theirs == [imported]


def test_of_an_archive_each_module_is_told_of_as_itself(tmp_path, monkeypatch):
    """One loader loads all that is in it, whoever has only looked for what."""
    archive, names = tmp_path / "some.zip", ("zipped_one", "zipped_two", "zipped_three")
    with zipfile.ZipFile(archive, "w") as file:
        for name in names:
            file.writestr(f"{name}.py", "")
    monkeypatch.syspath_prepend(archive)
    found = []
    cancels = [when_imported(name, found.append) for name in names[:2]]
    for name in names:
        assert importlib.util.find_spec(name) is not None
    imported = [importlib.import_module(name) for name in reversed(names)]
    for cancel in cancels:
        cancel()
    for name in names:
        del sys.modules[name]
    assert [module.__name__ for module in found] == ["zipped_two", "zipped_one"]
    assert found == imported[1:]


def test_who_asks_for_a_module_waits_for_the_thread_that_imports_it(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(threading, "told_to_go_on", threading.Event(), raising=False)
    monkeypatch.setattr(threading, "told_begun", threading.Event(), raising=False)
    (tmp_path / "told_slowly.py").write_text(
        "import threading\n"
        "threading.told_begun.set()\n"
        "threading.told_to_go_on.wait(10)\n"
        "value = 1\n"
    )
    assert if_imported("told_slowly") is None
    values = []
    imports = threading.Thread(target=importlib.import_module, args=("told_slowly",))
    asks = threading.Thread(target=lambda: values.append(if_imported("told_slowly").value))
    imports.start()
    assert threading.told_begun.wait(10)
    asks.start()
    threading.told_to_go_on.set()
    imports.join()
    asks.join()
    del sys.modules["told_slowly"]
    assert values == [1]
