"""Nothing of what a command is told or says leaves by default."""

from __future__ import annotations

import subprocess

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

from capture.children.tools_of_ours import tool
from llmphases import llm_call, run_command, stream_command

SECRET = "xyzzy-4711"


def exported_bytes(exported):
    points = exported.points()
    spans = encode_spans(exported.spans).SerializeToString()
    records = "".join(call.to_json() for call in exported.calls)
    return spans + repr(points).encode() + records.encode()


@pytest.mark.parametrize("format_name", ["text", "claude-stream-json", "codex-json", "llm"])
def test_no_word_of_a_command_its_environment_or_its_output_is_exported(
    exported, format_name, caplog, tmp_path
):
    folder = tmp_path / SECRET
    folder.mkdir()
    program = tool(
        f"# {SECRET}\n"
        "data = sys.stdin.read() + os.environ['S'] + os.getcwd()\n"
        "out(data + '\\n'); time.sleep(60 if sys.argv[1] == '2' else 0.2)\n"
        'out(\'{"type": "result", "result": "\' + data + \'", "text": "\' + data + \'"}\\n\')\n'
        "err(data); sys.exit(int(sys.argv[1]))"
    )
    options = {
        "input": SECRET, "env": {"S": SECRET}, "cwd": str(folder), "format": format_name,
    }  # fmt: skip
    for code in ("0", "1"):
        result = run_command([*program, code, SECRET], **options)
        assert SECRET in result.stdout
        list(stream_command([*program, code, SECRET], **options))
    with llm_call("outer"), pytest.raises(subprocess.CalledProcessError):
        run_command([*program, "1", SECRET], check=True, **options)
    with pytest.raises(FileNotFoundError):
        run_command([f"/absent/{SECRET}/tool", SECRET], env={"S": SECRET})
    with pytest.raises(subprocess.TimeoutExpired):
        run_command([*program, "2", SECRET], timeout=0.01, **options)
    exported_now = exported_bytes(exported)
    assert len(exported.calls) == 7
    assert b"process_startup" in exported_now
    assert SECRET.encode() not in exported_now
    assert SECRET not in caplog.text
