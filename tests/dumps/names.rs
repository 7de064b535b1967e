//! Renamed modules and operations: verdict and culprit are those of equal names.

use std::fs;
use std::path::{Path, PathBuf};

use precision_gate::gate::{self, Quiet, Request};
use precision_gate::judge::register;
use precision_gate::msprobe::dump::{Matching, mapping};
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::report::messages::Language;
use precision_gate::report::summary::COMMENT_LIMIT;
use precision_gate::result::GateResult;
use precision_gate::verdict::{CheckId, Severity, Verdict};

use crate::dumps::build::{Op, Tensor, dump};
use crate::dumps::support::fixtures;
use crate::reports::comment::comment;

/// Pairs of one model with module names: a healthy one, wrong modules, wrong operations, a warning.
const CASES: [&str; 6] = [
    "benign_glm_stats_mix",
    "glm_stats_l0_layernorm_cancellation",
    "glm_stats_mix_dropout",
    "glm_stats_mix_inv_freq",
    "glm_stats_mix_zero_getitem_grad",
    "glm_stats_mix_zero_grad_undumped_op",
];

fn judge(baseline: &Path, candidate: &Path, policy: &str, matching: &Matching) -> GateResult {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let request = Request {
        baseline: TrustedLocation::own(baseline.display().to_string()),
        several: Default::default(),
        candidate: candidate.display().to_string(),
        checks: vec![CheckId::Dump],
        policy: Policy::parse("policy.yml", policy, &codes).expect("a sound policy"),
        matching: matching.clone(),
    };
    gate::run(&request, &Quiet).expect("judged").result
}

/// Copies a side with every text of its JSON files that begins with `Module.` or an interface renamed.
fn renamed(from: &Path, to: &Path, rename: &dyn Fn(&str) -> String) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            renamed(&entry.path(), &target, rename);
        } else {
            let text = fs::read_to_string(entry.path()).expect("JSON");
            let parts: Vec<String> = text.split('"').map(rename).collect();
            fs::write(target, parts.join("\"")).expect("written");
        }
    }
}

/// Renames the modules in a text of a dump.
fn modules(rename: impl Fn(&str) -> String) -> impl Fn(&str) -> String {
    move |text| match text.strip_prefix("Module.") {
        Some(module) => format!("Module.{}", rename(module)),
        None => text.to_owned(),
    }
}

struct Renamed {
    _folder: tempfile::TempDir,
    sides: [PathBuf; 2],
}

/// A case whose candidate, or whose baseline, has other names.
fn case(name: &str, is_candidate: bool, rename: &dyn Fn(&str) -> String) -> Renamed {
    let folder = tempfile::tempdir().expect("folder");
    let mut sides = ["gpu", "npu"].map(|side| fixtures().join(name).join(side));
    let target = folder.path().join("renamed");
    renamed(&sides[usize::from(is_candidate)], &target, rename);
    sides[usize::from(is_candidate)] = target;
    Renamed { _folder: folder, sides }
}

/// Demands verdict and culprit of the case with equal names.
fn expect_same(
    name: &str,
    is_candidate: bool,
    rename: &dyn Fn(&str) -> String,
    policy: &str,
    matching: &Matching,
) -> GateResult {
    let [gpu, npu] = ["gpu", "npu"].map(|side| fixtures().join(name).join(side));
    let wanted = judge(&gpu, &npu, "", &Matching::default());
    let Renamed { _folder, sides: [left, right] } = case(name, is_candidate, rename);
    let found = judge(&left, &right, policy, matching);
    assert_eq!(found.verdict, wanted.verdict, "{name}: {:#?}", found.findings);
    let own = |op: &str| if is_candidate { rename(op) } else { op.to_owned() };
    let culprit = |result: &GateResult, own: &dyn Fn(&str) -> String| {
        result.culprit.as_ref().map(|culprit| (own(&culprit.op), own(&culprit.tensor), culprit.code.clone()))
    };
    assert_eq!(culprit(&found, &str::to_owned), culprit(&wanted, &own), "{name}");
    let counts = |result: &GateResult| result.checks[0].units.iter().map(|unit| unit.size()).collect::<Vec<_>>();
    assert_eq!(counts(&found), counts(&wanted), "{name}");
    found
}

fn is_told(result: &GateResult, code: &str) -> bool {
    result.findings.iter().any(|finding| finding.code == code)
}

#[test]
fn a_wrapper_is_found_by_itself_on_either_side() {
    let wrapped = modules(|module| format!("module.{module}"));
    for name in CASES {
        for is_candidate in [true, false] {
            let found = expect_same(name, is_candidate, &wrapped, "", &Matching::default());
            let told: Vec<_> = found.findings.iter().filter(|finding| finding.code == "module-prefix").collect();
            assert_eq!(told.len(), 1, "{name}");
            assert_eq!(told[0].severity, Severity::Info);
        }
        let declared = expect_same(name, true, &wrapped, "dump: {prefixes: {'module.': ''}}", &Matching::default());
        assert!(!is_told(&declared, "module-prefix"), "{name}");
    }
}

#[test]
fn a_wrapper_inside_the_model_is_found_by_itself() {
    let wrapped = modules(|module| match module.strip_prefix("layers.") {
        Some(rest) => format!("layers.module.{rest}"),
        None => module.to_owned(),
    });
    for name in CASES {
        let found = expect_same(name, true, &wrapped, "", &Matching::default());
        assert!(is_told(&found, "module-prefix"), "{name}");
    }
}

#[test]
fn the_record_of_the_wrapper_itself_is_no_missing_operation() {
    let name = "glm_stats_mix_dropout";
    let wrapped = modules(|module| format!("module.{module}"));
    let Renamed { _folder, sides: [left, right] } = case(name, true, &wrapped);
    let file = walk(&right).into_iter().find(|path| path.ends_with("dump.json")).expect("records");
    let text = fs::read_to_string(&file).expect("there");
    let own = "\"Module.module.GLM.forward.0\": {\"input_args\": [], \"input_kwargs\": {}, \"output\": \
        [{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": [1], \"Max\": 1.0, \"Min\": 1.0, \
        \"Mean\": 1.0, \"Norm\": 1.0, \"requires_grad\": true}]},";
    let at = text.find("\"data\": {").expect("data") + "\"data\": {".len();
    fs::write(&file, format!("{}{own}{}", &text[..at], &text[at..])).expect("written");
    let found = judge(&left, &right, "", &Matching::default());
    assert!(!is_told(&found, "operations-missing"), "{:#?}", found.findings);
    assert_eq!(found.culprit.expect("a culprit").op, "Functional.dropout.0.forward");
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

/// Megatron's names, of classes of its own, for the names of the fixtures.
const MEGATRON: [(&str, &str); 8] = [
    ("embedding.word_embeddings", "word_embeddings"),
    ("decoder.layers", "layers"),
    ("decoder.final_layernorm", "final_layernorm"),
    ("self_attention.linear_qkv", "attention.query_key_value"),
    ("self_attention.linear_proj", "attention.dense"),
    ("self_attention", "attention"),
    ("mlp.linear_fc1", "mlp.dense_h_to_4h"),
    ("mlp.linear_fc2", "mlp.dense_4h_to_h"),
];

fn megatron(module: &str) -> String {
    let renamed = MEGATRON.iter().fold(module.to_owned(), |name, (megatron, plain)| {
        let whole = |at: usize| at == 0 || name.as_bytes()[at - 1] == b'.';
        match name.find(plain).filter(|at| whole(*at) && !name[..*at].ends_with("self_") && !name.contains(megatron)) {
            Some(at) => format!("{}{megatron}{}", &name[..at], &name[at + plain.len()..]),
            None => name,
        }
    });
    renamed.replace(".Linear.", ".ColumnParallelLinear.").replace(".LayerNorm.", ".TENorm.")
}

#[test]
fn another_librarys_names_are_mapped_by_the_policy_and_by_a_cell_mapping() {
    let names = MEGATRON.map(|(from, to)| format!("'{from}': '{to}'"));
    let policy = format!("dump: {{modules: {{{}}}}}", names.join(", "));
    let cells = names.join("\n").replace('\'', "");
    let modules_of = mapping::parse("cells.yaml", &cells).expect("a mapping");
    let matching = Matching { modules: Some(modules_of), ..Matching::default() };
    for name in CASES {
        expect_same(name, true, &modules(megatron), &policy, &Matching::default());
        let found = expect_same(name, true, &modules(megatron), "", &matching);
        if let Some(culprit) = found.culprit.filter(|culprit| culprit.op.starts_with("Module.")) {
            let theirs = culprit.baseline.expect("on both sides").tensor;
            assert_ne!(culprit.tensor, theirs, "both names are there");
        }
    }
    let name = "glm_stats_l0_layernorm_cancellation";
    let Renamed { _folder, sides: [left, right] } = case(name, true, &modules(megatron));
    let unmapped = judge(&left, &right, "", &Matching::default());
    assert_eq!(unmapped.verdict, Verdict::Incomplete, "nothing pairs without a mapping");
}

/// MindSpore's names: cells and dense layers of another network, and interfaces of its own.
fn mindspore(text: &str) -> String {
    let cell = |module: &str| {
        let module = format!("network.{module}").replace(".attention.dense.", ".attention.projection.");
        format!("Cell.{}", module.replace(".mlp.dense_", ".mlp.mapping_").replace(".Linear.", ".Dense."))
    };
    match text {
        "pytorch" => "mindspore".to_owned(),
        _ if text.starts_with("Module.") => cell(text.trim_start_matches("Module.")),
        _ => text.replace("Functional.linear.", "Mint.nn_linear."),
    }
}

const LAYERS: &str =
    "SelfAttention:\n  projection: dense\nGLU:\n  mapping_h_to_4h: dense_h_to_4h\n  mapping_4h_to_h: dense_4h_to_h\n";
const INTERFACES: &str =
    "- ms_api: Mint.nn_linear\n  pt_api: Functional.linear\n  ms_args: [0, 1, 2]\n  pt_args: [0, 1, 2]\n";

#[test]
fn layers_and_interfaces_of_msprobes_files_pair_mindspore_with_pytorch() {
    let matching = Matching {
        layers: mapping::parse_layers("layers.yaml", LAYERS).expect("layers"),
        interfaces: mapping::parse_interfaces("apis.yaml", INTERFACES).expect("interfaces"),
        ..Matching::default()
    };
    for name in CASES {
        // What holds the network in MindSpore is a prefix, which is found by itself or declared.
        let found = expect_same(name, true, &mindspore, "", &matching);
        assert!(is_told(&found, "module-prefix"), "{name}");
        expect_same(name, true, &mindspore, "dump: {prefixes: {'network.': ''}}", &matching);
    }
}

#[test]
fn two_frameworks_without_a_mapping_are_told_the_option_and_its_form() {
    let folder = tempfile::tempdir().expect("folder");
    let case = fixtures().join("benign_glm_stats_mix");
    renamed(&case.join("npu"), &folder.path().join("npu"), &mindspore);
    let found = judge(&case.join("gpu"), &folder.path().join("npu"), "", &Matching::default());
    assert_eq!(found.verdict, Verdict::Incomplete);
    for language in Language::ALL {
        let comment = comment(&found, language, COMMENT_LIMIT);
        let advice = comment.split("\n|").next().expect("the words above the table");
        for word in ["PyTorch", "MindSpore", "--cell-mapping", "attention.projection: attention.dense", "dump.modules"]
        {
            assert!(advice.contains(word), "{word}: {advice}");
        }
    }
    // Of one framework no mapping is asked for.
    let other = renamed_case(&folder.path().join("torch"), &case);
    let found = judge(&case.join("gpu"), &other, "", &Matching::default());
    let mut missing = found.findings.iter().filter(|finding| finding.code == "operations-missing").peekable();
    assert!(missing.peek().is_some() && missing.all(|one| !one.facts.contains_key("framework")));
}

/// A candidate of the same framework whose linear calls have another name.
fn renamed_case(to: &Path, case: &Path) -> PathBuf {
    renamed(&case.join("npu"), to, &|text| text.replace("Functional.linear.", "Functional.other_linear."));
    to.to_owned()
}

#[test]
fn an_operation_is_renamed_by_the_policy() {
    let other = |text: &str| text.replace("Functional.dropout.", "NPU.npu_dropout.");
    let policy = "dump: {operations: {NPU.npu_dropout: Functional.dropout}}";
    let found = expect_same("glm_stats_mix_dropout", true, &other, policy, &Matching::default());
    let culprit = found.culprit.expect("a culprit");
    assert_eq!(culprit.op, "NPU.npu_dropout.0.forward");
    assert!(culprit.baseline.expect("on both sides").tensor.starts_with("Functional.dropout.0.forward."));
    let rows = "NPU.npu_dropout.0.forward.output.0: Functional.dropout.0.forward.output.0\n\
        NPU.npu_dropout.0.backward.output.0: Functional.dropout.0.backward.output.0\n";
    let only_first = |text: &str| text.replace("Functional.dropout.0.", "NPU.npu_dropout.0.");
    let matching = Matching { rows: mapping::parse("rows.yaml", rows).expect("rows"), ..Matching::default() };
    expect_same("glm_stats_mix_dropout", true, &only_first, "", &matching);
}

fn of_modules(folder: &Path, names: &[&str]) {
    let op = |name: &&str| Op::output(&format!("Module.{name}.Linear.forward.0"), Tensor::f32(&[2], &[1.0, 2.0]));
    dump(&folder.join("step0/rank0"), "statistics", &names.iter().map(op).collect::<Vec<_>>());
}

#[test]
fn an_ambiguous_prefix_is_refused_with_both_readings() {
    let folder = tempfile::tempdir().expect("folder");
    let [left, right] = ["gpu", "npu"].map(|side| folder.path().join(side));
    of_modules(&left, &["fc1", "fc2", "module.fc1", "module.fc2"]);
    of_modules(&right, &["module.module.fc1", "module.module.fc2"]);
    let found = judge(&left, &right, "", &Matching::default());
    assert_eq!(found.verdict, Verdict::Incomplete);
    let told = found.findings.iter().find(|finding| finding.code == "module-prefix-ambiguous").expect("told");
    let readings = format!("{:?}", told.facts["readings"]);
    for reading in
        ["{'module.': ''} (module.module.fc1 = module.fc1)", "{'module.module.': ''} (module.module.fc1 = fc1)"]
    {
        assert!(readings.contains(reading), "{readings}");
    }
    assert!(found.culprit.is_none());
    let declared = judge(&left, &right, "dump: {prefixes: {'module.module.': ''}}", &Matching::default());
    assert!(!is_told(&declared, "module-prefix-ambiguous"), "{:#?}", declared.findings);
}

#[test]
fn a_missing_module_stays_missing_behind_a_wrapper() {
    let folder = tempfile::tempdir().expect("folder");
    let [left, right] = ["gpu", "npu"].map(|side| folder.path().join(side));
    of_modules(&left, &["fc1", "fc2", "fc3"]);
    of_modules(&right, &["module.fc1", "module.fc2"]);
    let found = judge(&left, &right, "", &Matching::default());
    let missing = found.findings.iter().find(|finding| finding.code == "operations-missing").expect("told");
    assert_eq!(missing.place, "Module.fc3.Linear.forward.0");
}
