//! Records of a stranger: whatever a name, a path or an argument holds, the script differs from any other in one constant.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use precision_gate::diagnose::runnable::runnable;
use precision_gate::fetch::Fetcher;
use precision_gate::gate::Quiet;
use precision_gate::gate::{Request, inventory_of_location, run};
use precision_gate::msprobe::dump::Matching;
use precision_gate::output::{DocumentSet, Output};
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::read::dump::DumpFolder;
use precision_gate::report::lines::OperationLines;
use precision_gate::reproduce::target::TargetOperation;
use precision_gate::reproduce::{CaseRun, write};
use precision_gate::result::GateResult;
use precision_gate::verdict::Side;

/// Texts that end a constant, a comment, a line or an f-string in some language.
const PIECES: [&str; 40] = [
    "'",
    "\"",
    "'''",
    "\"\"\"",
    "\\",
    "\\'",
    "\\\"",
    "\\\\",
    "\n",
    "\r",
    "\r\n",
    "\t",
    "\0",
    "\u{1}",
    "\u{7f}",
    "\u{85}",
    "\u{2028}",
    "\u{2029}",
    "{",
    "}",
    "{{",
    "}}",
    "{0}",
    "{__import__('os').system('id')}",
    "');import os;os.system('id')#",
    "\"+__import__('os').system('id')+\"",
    "#",
    "%s",
    "%(x)s",
    "\\N{BULLET}",
    "\\u0027",
    "\\x27",
    "\\",
    "中文",
    "é",
    "😀",
    "\u{202e}",
    "\u{feff}",
    "../../../etc/passwd",
    "{% raw %}",
];
const MUTATIONS: usize = 10_000;

/// A sequence of numbers that is the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % end as u64).expect("it fits")
    }

    fn text(&mut self) -> String {
        let pieces = self.below(4) + 1;
        (0..pieces).map(|_| PIECES[self.below(PIECES.len())]).collect()
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A dump with one call whose texts, numbers and names are taken from `numbers`.
fn dump(numbers: &mut Numbers, value: f64) -> String {
    let tensor = |value: f64| {
        format!(
            r#"{{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2, 3], "Max": {value}, "Min": -1.5, "Mean": 0.25, "Norm": 2.5, "requires_grad": true}}"#
        )
    };
    let argument = match numbers.below(9) {
        0 => format!(r#"{{"type": "str", "value": {}}}"#, quoted(&numbers.text())),
        1 => format!(r#"[{{"type": "str", "value": {}}}, {{"type": "int", "value": 3}}]"#, quoted(&numbers.text())),
        2 => format!(r#"{{{}: {{"type": "str", "value": {}}}}}"#, quoted(&numbers.text()), quoted(&numbers.text())),
        3 => format!(r#"{{"type": {}, "value": 1}}"#, quoted(&numbers.text())),
        4 => format!(r#"{{"type": "torch.dtype", "value": {}}}"#, quoted(&numbers.text())),
        5 => format!(r#"{{"type": "torch.memory_format", "format": {}}}"#, quoted(&numbers.text())),
        6 => r#"{"type": "float", "value": NaN}"#.to_owned(),
        7 => format!(r#"{{"type": "slice", "value": [{}, null, -Infinity]}}"#, quoted(&numbers.text())),
        _ => "null".to_owned(),
    };
    let name = if numbers.below(3) == 0 { numbers.text() } else { "dim".to_owned() };
    let data_name =
        if numbers.below(3) == 0 { format!(r#", "data_name": {}"#, quoted(&numbers.text())) } else { String::new() };
    let first = tensor(1.5).replace("\"requires_grad\": true", &format!("\"requires_grad\": true{data_name}"));
    format!(
        r#"{{"task": "statistics", "level": "L1", "framework": "pytorch", "data": {{"Functional.softmax.0.forward": {{
           "input_args": [{first}, {argument}], "input_kwargs": {{{}: {argument}}}, "output": [{}]}}}}}}"#,
        quoted(&name),
        tensor(value),
    )
}

fn side(root: &Path, name: &str, text: &str) {
    let folder = root.join(name).join("step0/rank0");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("dump.json"), text).expect("written");
}

/// A result whose texts are hostile, too: labels and the culprit's name.
fn result(root: &Path) -> GateResult {
    let numbers = &mut Numbers(7);
    let (gpu, npu) = (dump(numbers, 1.0).replace("null, {", "{"), dump(&mut Numbers(7), 0.5));
    side(root, "gpu", &gpu);
    side(root, "npu", &npu);
    let location = |name: &str| root.join(name).display().to_string();
    let request = Request {
        baseline: TrustedLocation::own(location("gpu")),
        several: Default::default(),
        candidate: location("npu"),
        checks: Request::ALL_CHECKS.to_vec(),
        policy: Policy::default(),
        matching: Matching::default(),
    };
    run(&request, &Quiet).expect("it is judged").result
}

/// The script of a dump; `None` where the call cannot run alone.
fn script(root: &Path, result: &GateResult, numbers: &mut Numbers) -> Option<String> {
    side(root, "npu", &dump(numbers, 0.5));
    let mut result = result.clone();
    result.candidate.label = numbers.text();
    let inventory =
        inventory_of_location(&root.join("npu").display().to_string(), Side::Candidate, &Fetcher::default())
            .expect("readable");
    let target = TargetOperation::from_result(&result, &OperationLines::from(&[][..]), None).expect("a culprit");
    let dumps: Vec<&DumpFolder> = inventory.artifacts::<DumpFolder>().iter().collect();
    let run = CaseRun {
        side: Side::Candidate,
        run: &result.candidate,
        dumps,
        is_judged: false,
        versions: [(numbers.text(), numbers.text())].into(),
    };
    let out = root.join("reproduce");
    let output = Output::begin(&out, DocumentSet::Reproduce).expect("a folder");
    write(&result, target, vec![run], false, output).ok()?;
    Some(fs::read_to_string(out.join("reproduce.py")).expect("a script"))
}

/// Pieces between two quotes: no quote of them ends the constant, and each line is one piece of printable ASCII.
fn is_one_constant(script: &str) -> bool {
    let Some((before, rest)) = script.split_once("\nCASE = (\n") else { return false };
    let Some((constant, after)) = rest.split_once("\n)\n") else { return false };
    let program = format!("{before}\nCASE = '{{}}'\n{after}");
    let is_piece = |line: &str| {
        let inner = line.strip_prefix("    '").and_then(|rest| rest.strip_suffix('\''));
        let mut escaped = false;
        inner.is_some_and(|inner| {
            let fits = inner.bytes().all(|byte| {
                let ends = byte == b'\'' && !escaped;
                escaped = byte == b'\\' && !escaped;
                !ends && (b' '..=b'~').contains(&byte)
            });
            fits && !escaped
        })
    };
    program == include_str!("../../templates/reproduce/reproduce.py") && constant.lines().all(is_piece)
}

#[test]
fn hostile_records_change_one_constant() {
    let root = tempfile::tempdir().expect("a folder");
    let result = result(root.path());
    assert!(result.culprit.as_ref().is_some_and(|culprit| runnable(&culprit.op).is_ok()), "{:?}", result.findings);
    let numbers = &mut Numbers(1);
    let scripts: Vec<String> = (0..500).filter_map(|_| script(root.path(), &result, numbers)).collect();
    assert!(scripts.len() > 100, "{}", scripts.len());
    for script in scripts {
        assert!(is_one_constant(&script), "{script}");
    }
}

/// Python's own parser has the last word: the tree of every script is that of the shipped program but for one constant.
#[test]
#[ignore = "needs python3; takes minutes"]
fn pythons_parser_sees_one_constant_and_nothing_else() {
    const CHECK: &str = r#"
import ast, json, sys
place = ast.Constant(value="the operation")
def tree(text):
    module = ast.parse(text)
    found = [node for node in module.body if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "CASE"]
    assert len(found) == 1 and isinstance(found[0].value, ast.Constant) and isinstance(found[0].value.value, str)
    case, found[0].value = found[0].value.value, place
    return ast.dump(module), case
shipped, _ = tree(open(sys.argv[1], encoding="ascii").read())
count = 0
for line in sys.stdin:
    one, case = tree(json.loads(line))
    assert one == shipped
    assert isinstance(json.loads(case), dict)
    count += 1
print(count)
"#;
    let root = tempfile::tempdir().expect("a folder");
    let result = result(root.path());
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/templates/reproduce/reproduce.py");
    let mut python = Command::new("python3")
        .args(["-c", CHECK, shipped])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is installed");
    let numbers = &mut Numbers(2);
    let mut input = python.stdin.take().expect("a pipe");
    let mut written = 0;
    for _ in 0..MUTATIONS * 4 {
        let Some(script) = script(root.path(), &result, numbers) else { continue };
        writeln!(input, "{}", quoted(&script)).expect("it is read");
        written += 1;
        if written == MUTATIONS {
            break;
        }
    }
    drop(input);
    let output = python.wait_with_output().expect("it ends");
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), MUTATIONS.to_string());
}
