"""A package that is missing or half installed: only what needs it complains, and says which."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
sys.modules.update(dict.fromkeys({missing!r}))  # importing them raises ImportError
import llmphases
from llmphases import llm_call, run_command, traced_llm_call

llmphases.instrument()

@traced_llm_call
def answer():
    return 41

with llm_call("block") as call:
    call.request_sent()
    call.first_token()
print(answer() + 1, run_command([sys.executable, "-c", "print('ran')"]).stdout.strip())
loaded = {{name.partition(".")[0] for name in sys.modules if sys.modules[name] is not None}}
print("loaded:", *sorted(loaded & set({all!r})))
"""
NEEDED_LATE = ["psutil", "h11", "rich", "msgspec", "opentelemetry.exporter", "opentelemetry.sdk"]
OF_VENDORS = ["openai", "anthropic", "fastapi", "google.genai", "ollama", "litellm", "boto3"]


def done(folder, program, path=None):
    environment = {**os.environ, "PYTHONPATH": str(path)} if path else dict(os.environ)
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("missing", [NEEDED_LATE, OF_VENDORS], ids=["of ours", "of vendors"])
def test_calls_are_traced_without_what_is_needed_for_other_things(tmp_path, missing):
    """RC-100: and no package of a vendor is loaded by ours."""
    program = PROGRAM.format(missing=missing, all=OF_VENDORS)
    result = done(tmp_path, program)
    assert (result.stdout.splitlines(), result.stderr) == (["42 ran", "loaded:"], "")


@pytest.fixture
def half_installed(tmp_path):
    """A folder of packages that raise when they are imported, as those of mixed versions do."""
    folder = tmp_path / "packages"
    for name in ("psutil", "h11", "rich", "openai", "anthropic", "fastapi"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("raise AttributeError('half installed')\n")
    return folder


def test_calls_are_traced_beside_packages_that_are_half_installed(tmp_path, half_installed):
    """RC-100: nor is one imported that nobody has asked for."""
    result = done(tmp_path, PROGRAM.format(missing=[], all=OF_VENDORS), half_installed)
    assert (result.stdout.splitlines(), result.stderr) == (["42 ran", "loaded:"], "")


CONFIGURED = """
import sys
sys.modules.update(dict.fromkeys({missing!r}))
import llmphases
try:
    llmphases.configure(endpoint="http://localhost:1", protocol={protocol!r})
except llmphases.ConfigurationError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("protocol", "missing"),
    [
        ("http/protobuf", "opentelemetry.exporter.otlp.proto.http"),
        ("grpc", "opentelemetry.exporter.otlp.proto.grpc"),
        ("grpc", "grpc"),
        ("http/protobuf", "opentelemetry.sdk"),
    ],
)
def test_without_its_exporter_configure_says_what_to_install(tmp_path, protocol, missing):
    """RC-100."""
    said = done(tmp_path, CONFIGURED.format(missing=[missing], protocol=protocol)).stdout
    assert missing in said
    assert "pip install --force-reinstall opentelemetry-sdk opentelemetry-exporter-otlp" in said


def test_configure_names_the_package_that_is_half_installed(tmp_path, half_installed):
    """RC-100: OpenTelemetry's SDK takes psutil where it finds it."""
    program = CONFIGURED.format(missing=[], protocol="http/protobuf")
    said = done(tmp_path, program, half_installed).stdout
    assert "half installed (in psutil)" in said


@pytest.mark.parametrize("is_there", [False, True], ids=["missing", "half installed"])
def test_the_tap_names_what_it_needs(tmp_path, half_installed, is_there):
    """RC-100."""
    program = f"""
import sys
if not {is_there}:
    sys.modules["h11"] = None
import llmphases
try:
    llmphases.run_command([sys.executable, "-c", ""], tap=True)
except llmphases.ConfigurationError as error:
    print(error)
"""
    said = done(tmp_path, program, half_installed).stdout
    assert "tap=True needs the package h11" in said
    assert "pip install 'llmphases[cli]'" in said
