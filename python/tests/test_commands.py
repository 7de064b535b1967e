"""Commands, results and what bad input gets."""

import json

import pytest

import precision_gate
from precision_gate import BinaryError, CrashError, FetchError, PrecisionError, ResultError, UsageError


def test_the_quickstart_fails_with_the_words_of_the_terminal(quickstart, tmp_path):
    result = precision_gate.run(*quickstart, out=tmp_path)
    assert result.verdict == "fail"
    assert result.headline == "The backward of h[order] returns only zeros on the NPU"
    assert result.place.startswith("modeling_glm.py:128")
    assert "index_select" in result.fix
    assert result.certainty.startswith("Certain")
    assert "checkpoint" in result.not_judged
    assert result.culprit.op == "Tensor.__getitem__.0.backward"
    assert result.check("config").verdict == "pass"
    with pytest.raises(KeyError, match="no check `dumps`; there are"):
        result.check("dumps")
    with pytest.raises(PrecisionError) as raised:
        result.assert_pass()
    assert str(raised.value) == result.text.rstrip("\n")
    assert raised.value.result is result


def test_words_are_those_of_the_language(quickstart):
    result = precision_gate.loss(*(run / "trainer_state.json" for run in quickstart), out="-", lang="zh")
    assert "标杆" in result.headline
    assert result.folder is None
    assert result.page is None
    assert result.headline in str(result)


def test_a_result_has_no_truth(quickstart):
    result = precision_gate.run(*quickstart, out="-")
    with pytest.raises(TypeError, match=r"neither true nor false.*assert_pass"):
        bool(result)


def test_the_page_and_its_picture_are_shown(quickstart, tmp_path, monkeypatch):
    result = precision_gate.run(*quickstart, out=tmp_path)
    html = result._repr_html_()
    assert "The backward of h[order] returns only zeros on the NPU" in html
    assert "data:image/png;base64," in html
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    result.show()
    assert opened == [(tmp_path / "report.html").as_uri()]
    with pytest.raises(precision_gate.GateError, match="no page was written"):
        precision_gate.run(*quickstart, out="-").show()


def test_text_of_an_artifact_is_escaped(tmp_path):
    for side, scale in (("a", 1.0), ("b", 2.0)):
        (tmp_path / side).mkdir()
        lines = [json.dumps({"step": step, "<script>_loss": scale * step}) for step in range(1, 60)]
        (tmp_path / side / "x.jsonl").write_text("\n".join(lines))
    assert "<script>" not in precision_gate.run(tmp_path / "a", tmp_path / "b", out=tmp_path / "out")._repr_html_()


def test_operations_are_a_frame(quickstart, tmp_path):
    pandas = pytest.importorskip("pandas")
    result = precision_gate.run(*quickstart, out=tmp_path)
    frame = result.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == len(list(result.operations())) > 100


def test_one_run_its_source_and_evaluations(quickstart, tmp_path):
    assert precision_gate.health(quickstart[0], out=tmp_path / "health").data.mode == "health"
    (tmp_path / "train.py").write_text("import torch\nx = torch.ones(1).cuda()\n")
    assert precision_gate.source(tmp_path / "train.py", out=tmp_path / "source").findings
    with pytest.raises(UsageError, match="neither side holds an evaluation"):
        precision_gate.evaluation(*quickstart, out=tmp_path / "evaluation")


def test_several_runs_of_a_side_and_options(quickstart, tmp_path):
    gpu, npu = quickstart
    result = precision_gate.run([gpu, gpu], [npu, npu], out=tmp_path, no_table=True, profile="strict")
    assert result.data.samples is not None
    assert result.data.profile == "strict"
    assert not list(tmp_path.glob("compare_result*.csv"))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda gpu, npu: precision_gate.run("nowhere", npu), "nowhere: No such file or directory"),
        (lambda gpu, npu: precision_gate.run(gpu, npu, profil="strict"), "unexpected argument '--profil'"),
        (lambda gpu, npu: precision_gate.run(gpu, npu, profile="lax"), "invalid value 'lax'"),
        (lambda gpu, npu: precision_gate.run(gpu, npu, verbose=True), "`verbose` is for the command line"),
        (lambda gpu, npu: precision_gate.run(gpu, ""), "the candidate is an empty text: name a folder"),
        (lambda gpu, npu: precision_gate.run([], npu), "no baseline is given: name a folder"),
        (lambda gpu, npu: precision_gate.run(gpu, 3), "the candidate is of type int, and no location"),
        (lambda gpu, npu: precision_gate.compare(gpu, [npu, npu]), "takes one baseline and one candidate"),
        (lambda gpu, npu: precision_gate.compare("--help", npu), "--help: No such file or directory"),
        (lambda gpu, npu: precision_gate.run(gpu, npu, config="nowhere.yml"), "nowhere.yml"),
    ],
)
def test_bad_usage_is_one_exception_with_the_same_words(quickstart, tmp_path, monkeypatch, call, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as raised:
        call(*quickstart)
    assert said in str(raised.value)


def test_a_binary_that_is_not_there(monkeypatch, tmp_path):
    monkeypatch.setenv("PRECISION_GATE_BINARY", str(tmp_path / "nothing"))
    with pytest.raises(BinaryError, match=r"PRECISION_GATE_BINARY names .*: give the path of precision-gate"):
        precision_gate.run("a", "b")
    monkeypatch.delenv("PRECISION_GATE_BINARY")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("precision_gate._binary._places", list)
    with pytest.raises(BinaryError, match="is not there: install the package again"):
        precision_gate.run("a", "b")


def test_a_binary_of_another_version_or_of_another_program(monkeypatch, program):
    monkeypatch.setattr("precision_gate._binary.package_version", lambda: "0.1.0")
    program("", version="9.9.9")
    with pytest.raises(BinaryError, match=r"is version 9.9.9, this package is 0.1.0: `pip install precision-gate==9.9.9`"):
        precision_gate.run("a", "b")
    monkeypatch.setenv("PRECISION_GATE_BINARY", "/bin/true")
    with pytest.raises(BinaryError, match="is not precision-gate"):
        precision_gate.run("a", "b")


def test_a_crash_tells_its_exit_code_and_what_it_said(monkeypatch, program, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("precision_gate._binary.package_version", lambda: "0.1.0")
    program("print('error: a defect', file=sys.stderr)\nsys.exit(4)\n")
    with pytest.raises(CrashError, match="ended with exit code 4: error: a defect") as raised:
        precision_gate.run("a", "b")
    assert (raised.value.exit_code, raised.value.stderr) == (4, "error: a defect\n")
    program("os.kill(os.getpid(), signal.SIGKILL)\n")
    with pytest.raises(CrashError, match="ended by signal 9") as raised:
        precision_gate.run("a", "b")
    assert raised.value.exit_code == -9
    program("sys.exit(0)\n")
    with pytest.raises(CrashError, match=r"wrote no precision-gate-out.result\.json"):
        precision_gate.run("a", "b")


def test_what_could_not_be_fetched(monkeypatch, program):
    monkeypatch.setattr("precision_gate._binary.package_version", lambda: "0.1.0")
    program("print('error: s3://x: no answer\\nhelp: try again', file=sys.stderr)\nsys.exit(3)\n")
    with pytest.raises(FetchError) as raised:
        precision_gate.run("a", "b")
    assert str(raised.value) == "s3://x: no answer\ntry again"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema_version": 4}, "has schema version 4, and this package reads up to 3: `pip install precision-gate==9.9.9`"),
        ({"schema_version": True}, "is no result"),
        ({"verdict": "maybe"}, "result.verdict is 'maybe', and not one of"),
        ({"checks": 3}, "result.checks is no list"),
        ({"candidate": {}}, "result.candidate lacks `"),
    ],
)
def test_a_result_that_is_not_known(quickstart, tmp_path, change, said):
    raw = precision_gate.run(*quickstart, out="-").raw
    path = tmp_path / "result.json"
    path.write_text(json.dumps({**raw, "tool": {"name": "precision-gate", "version": "9.9.9"}, **change}))
    with pytest.raises(ResultError) as raised:
        precision_gate.load(path)
    assert said in str(raised.value)


def test_what_is_no_result(tmp_path):
    for name, content, said in (("a", b"[1, 2]", "is no result"), ("b", b"{", "is no JSON"), ("c", b"\xff\xfe", "is no text")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ResultError, match=said):
            precision_gate.load(tmp_path / name)
    with pytest.raises(ResultError, match="cannot be read"):
        precision_gate.load(tmp_path / "nothing")


def test_keys_of_later_versions_are_kept_as_they_are(quickstart, tmp_path):
    raw = precision_gate.run(*quickstart, out="-").raw
    path = tmp_path / "result.json"
    path.write_text(json.dumps({**raw, "later": 1}))
    assert precision_gate.load(path).raw["later"] == 1
