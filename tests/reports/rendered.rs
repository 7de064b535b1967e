//! Second stage: documents in the programs that show them.
//!
//! `apt-get install chromium cmark-gfm libxml2-utils`, then
//! `cargo test --test reports -- --ignored`. Pictures of the page are left in `target/tmp/page-*.png`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use precision_gate::report::messages::Language;
use precision_gate::report::summary::COMMENT_LIMIT;
use precision_gate::report::templates::Templates;
use precision_gate::report::{issue, junit, page};

use crate::cases::CASES;
use crate::comment::comment;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

fn output(program: &str, arguments: &[&str], about: &Path) -> (String, String) {
    let ran = Command::new(program).args(arguments).arg(about).output();
    let ran = ran.unwrap_or_else(|error| panic!("{program}: {error}; the top of this file says how to install it"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(ran.status.success(), "{program}: {}", text(&ran.stderr));
    (text(&ran.stdout), text(&ran.stderr))
}

#[test]
#[ignore = "needs cmark-gfm"]
fn the_comment_becomes_tables_and_folded_parts() {
    for case in CASES {
        let path = folder().join(format!("{}.md", case.name));
        fs::write(&path, comment(&case.run().result, Language::En, COMMENT_LIMIT)).expect("written");
        let (html, _) = output("cmark-gfm", &["--unsafe", "-e", "table", "-e", "autolink"], &path);
        assert!(html.contains("<h2>") && html.contains("<table>"), "{html}");
        assert_eq!(html.matches("<details>").count(), html.matches("</details>").count());
        assert!(!html.contains("<a href") && !html.contains("<pre><code>|"), "{html}");
        assert!(!html.contains("<p>|"), "a table that is none:\n{html}");
    }
}

#[test]
#[ignore = "needs xmllint"]
fn junit_keeps_its_schema() {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas/junit-10.xsd").display().to_string();
    let hostile = crate::hostile::result();
    let results = CASES.iter().map(|case| case.run().result).chain([hostile]);
    for (index, result) in results.enumerate() {
        let options = issue::Options { language: Language::Zh, source_root: None };
        let issues = issue::all(&result, &options).expect("issues");
        let path = folder().join(format!("junit-{index}.xml"));
        fs::write(&path, junit::render(&result, &issues, &[]).expect("renders")).expect("written");
        output("xmllint", &["--noout", "--schema", &schema], &path);
    }
}

/// Actions of a reader: choose rows by key, search, sort, open a module. A failed claim is an error on the console.
const USE: &str = r##"<script>
const claim = (holds, what) => { if (!holds) throw new Error(what); };
const rows = () => document.querySelectorAll(".grid-body .grid-row");
if (!document.getElementById("operations").hidden) {
  const [body, search] = [document.getElementById("grid-body"), document.getElementById("search")];
  body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown" }));
  claim(document.querySelectorAll("[aria-selected=true]").length === 1, "a row is chosen");
  claim(document.querySelectorAll("#detail tr").length > 5, "its detail is shown");
  document.querySelectorAll("#grid-head button")[3].click();
  claim(document.querySelector("[aria-sort=descending]"), "sorted by error");
  const module = document.querySelectorAll("#tree button")[1];
  if (module) {
    module.click();
    claim(!document.getElementById("chosen-module").hidden, "a module is chosen");
    document.querySelector("#tree button").click();
  }
  search.value = "no such tensor";
  search.dispatchEvent(new Event("input"));
  setTimeout(() => claim(rows().length === 0, "nothing is found"), 300);
}
</script></body>"##;

#[test]
#[ignore = "needs chromium"]
fn the_page_draws_without_errors_in_light_and_dark() {
    let templates = Templates::shipped();
    for (name, language) in
        [("other_rank", Language::En), ("curve_divergence", Language::Zh), ("operations_missing", Language::Zh)]
    {
        let outcome = crate::cases::find(name).run();
        let options = page::Options { language, templates: &templates };
        let html = page::render(&outcome.result, &outcome.operations.as_slice().into(), &options).expect("renders");
        let used = folder().join(format!("{name}-used.html"));
        fs::write(&used, html.replace("</body>", USE)).expect("written");
        let quietly = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            "--virtual-time-budget=3000",
            "--dump-dom",
        ];
        let (_, log) = output("chromium", &quietly, &used);
        assert!(!log.contains("CONSOLE"), "{log}");
        let path = folder().join(format!("{name}.html"));
        fs::write(&path, html).expect("written");
        for scheme in ["light", "dark"] {
            let picture = folder().join(format!("page-{name}-{scheme}.png")).display().to_string();
            let picture = format!("--screenshot={picture}");
            let mut arguments = vec![
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--window-size=1366,2200",
                "--enable-logging=stderr",
                &picture,
            ];
            if scheme == "dark" {
                arguments.push("--force-dark-mode");
            }
            let (_, log) = output("chromium", &arguments, &path);
            assert!(!log.contains("CONSOLE"), "{log}");
        }
        let (document, _) = output("chromium", &["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"], &path);
        assert!(document.contains("<canvas"), "{name}: nothing was drawn");
        assert!(
            outcome.operations.is_empty() || document.contains("class=\"grid-row\" role=\"row\" aria-rowindex=\"1\"")
        );
    }
}
