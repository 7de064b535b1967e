//! Second stage: documents in the programs that show them.
//!
//! `apt-get install chromium cmark-gfm fonts-wqy-microhei libxml2-utils`, then
//! `cargo test --test all reports:: -- --ignored`. Pictures of the page are left in `target/tmp/page-*.png`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use precision_gate::report::messages::{self, Language};
use precision_gate::report::summary::COMMENT_LIMIT;
use precision_gate::report::{issue, junit};

use crate::reports::cases::CASES;
use crate::reports::comment::comment;
use crate::reports::gallery;

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
    let hostile = crate::reports::hostile::result();
    let results = CASES.iter().map(|case| case.run().result).chain([hostile]);
    for (index, result) in results.enumerate() {
        let options = issue::IssueOptions { language: Language::Zh, source_root: None };
        let issues = issue::all_issues(&result, &options).expect("issues");
        let path = folder().join(format!("junit-{index}.xml"));
        fs::write(&path, junit::render(&result, &issues, &[]).expect("renders")).expect("written");
        output("xmllint", &["--noout", "--schema", &schema], &path);
    }
}

/// Actions of a reader: choose rows by key, search, sort, open a module. A failed claim is an error on the console.
const USE: &str = r##"<script>
const claim = (holds, what) => { if (!holds) throw new Error(what); };
const rows = () => [...document.querySelectorAll(".grid-body .grid-row")];
const texts = (selector) => [...document.querySelectorAll(selector)].map((one) => one.textContent);
const chosen = (id, value) => {
  const select = document.getElementById(id);
  select.value = value;
  select.dispatchEvent(new Event("change"));
};
claim(document.querySelectorAll("#contents a[aria-current]").length === 1, "the contents tell where the reader is");
claim(!document.getElementById("picture").hidden, "the first screen has a picture");
claim(document.querySelector(".cards").getBoundingClientRect().bottom <= 768, "the first screen is one screen");
claim(document.documentElement.scrollWidth <= innerWidth, "nothing is wider than the window");
/** What a reader does once all rows are there. */
function use() {
  const [body, search] = [document.getElementById("grid-body"), document.getElementById("search")];
  claim(!texts(".grid-body .s-agrees").length, "the table opens on what is wrong");
  const first = document.querySelectorAll(".grid-body .s-first").length;
  if (first > 0) {
    claim(rows()[0].querySelector(".s-first") && rows()[0].getAttribute("aria-selected") === "true", "the first wrong value is first and open");
    const dim = rows().filter((row) => row.classList.contains("dim"));
    claim(dim.length > 0 && dim.every((row) => row.querySelector(".s-inherited").textContent !== ""), "what is inherited says so");
    claim(document.querySelectorAll("#overview .sides tbody tr").length === 2, "both sides' numbers are on the first screen");
    claim(document.querySelectorAll("#detail .sides tbody tr").length > 1, "both sides' numbers are beside each other");
  }
  chosen("state", "");
  body.dispatchEvent(new KeyboardEvent("keydown", { key: "End" }));
  claim(texts(".grid-body .s-agrees").length > 0, "all rows on request");
  const cells = () => [...document.querySelectorAll(".grid-body [role=cell]")];
  const atEnd = cells();
  document.querySelectorAll("#grid-head button")[0].click();
  body.dispatchEvent(new KeyboardEvent("keydown", { key: "Home" }));
  const lines = [...atEnd, ...cells()].flatMap((cell) => cell.textContent.split("\n"));
  claim(!lines.some((line) => line === "null" || line === "undefined" || line === "NaN %"), "no cell is null");
  const empty = [...atEnd, ...cells()].filter((cell) => cell.textContent.includes("—"));
  claim(empty.length > 0 && empty.every((cell) => cell.title !== ""), "what was not recorded is a dash that says why");
  body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown" }));
  claim(document.querySelectorAll("[aria-selected=true]").length === 1, "a row is chosen");
  claim(document.querySelectorAll("#detail tr").length > 2, "its detail is shown");
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
const operations = document.getElementById("operations");
const isRead = () => !operations.hasAttribute("aria-busy");
if (!operations.hidden && isRead()) use();
else if (!operations.hidden) new MutationObserver(() => isRead() && setTimeout(use)).observe(operations, { attributeFilter: ["aria-busy"] });
const verdicts = [...document.querySelectorAll("#curve-charts h3 .sign")].map((sign) => sign.classList[1]);
claim(verdicts.indexOf("pass") === -1 || !verdicts.slice(verdicts.indexOf("pass")).includes("fail"), "no failing curve stands under one that passes");
</script></body>"##;

/// A browser of its own, which talks to nobody.
const CHROMIUM: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
];

/// Standard output of Chromium about a page, without a line on the page's console.
fn chromium(more: &[&str], page: &Path) -> String {
    // Two tests at once may not share a profile.
    let name = page.file_stem().unwrap_or_default().display().to_string();
    let profile = format!("--user-data-dir={}", folder().join("chromium").join(name).display());
    let arguments: Vec<&str> = CHROMIUM.iter().chain(more).copied().chain([profile.as_str()]).collect();
    let (document, log) = output("chromium", &arguments, page);
    assert!(!log.contains("CONSOLE"), "{}: {log}", page.display());
    document
}

fn written(name: &str, html: &str) -> PathBuf {
    let path = folder().join(name);
    fs::write(&path, html).expect("written");
    path
}

#[test]
#[ignore = "needs chromium"]
fn the_page_draws_without_errors_in_light_and_dark() {
    for (name, language) in [
        ("culprit_backward", Language::En),
        ("other_rank", Language::En),
        ("curve_divergence", Language::Zh),
        ("operations_missing", Language::Zh),
        ("nan", Language::En),
        ("curve_nan", Language::En),
    ] {
        let html = crate::reports::page::page(name, language);
        let used = written(&format!("{name}-used.html"), &html.replace("</body>", USE));
        chromium(&["--window-size=1366,768", "--virtual-time-budget=3000", "--dump-dom"], &used);
        let path = written(&format!("{name}.html"), &html);
        for scheme in ["light", "dark"] {
            let picture = folder().join(format!("page-{name}-{scheme}.png")).display().to_string();
            let picture = format!("--screenshot={picture}");
            let mut arguments = vec!["--window-size=1366,768", picture.as_str()];
            arguments.extend((scheme == "dark").then_some("--force-dark-mode"));
            chromium(&arguments, &path);
        }
        let document = chromium(&["--dump-dom"], &path);
        assert!(document.contains("<canvas"), "{name}: nothing was drawn");
        let rows = document.contains("role=\"row\" aria-rowindex=\"1\"");
        assert_eq!(rows, !name.starts_with("curve"), "{name}: the table");
    }
}

#[test]
#[ignore = "needs chromium"]
fn the_page_draws_hostile_names_as_text() {
    let html = crate::reports::hostile::rendered(Language::Zh);
    let document = chromium(&["--dump-dom"], &written("hostile.html", &html));
    assert!(document.contains("<canvas"), "nothing was drawn");
    let document = document.replacen("<img id=\"error-map\" alt=\"", "", 1);
    assert!(!document.contains("<img") && !document.contains("<b>"), "a name became an element");
}

/// Errors of 1e-45 are what subnormal numbers lead to: forty decades on an axis are more than a browser draws.
#[test]
#[ignore = "needs chromium"]
fn the_page_draws_the_smallest_errors_and_the_largest() {
    let html = crate::reports::page::page("culprit_backward", Language::En);
    let (before, rest) = html.split_once("\"error\":[0.0,0.0,0.0,").expect("a profile");
    let extreme = format!("{before}\"error\":[2e-45,1e38,\"inf\",{rest}");
    let document = chromium(&["--dump-dom"], &written("extreme.html", &extreme));
    assert!(document.contains("<canvas"), "nothing was drawn");
}

/// Records what charts write beside their axes. It stands before every other script of a page.
const RECORDS: &str = "<script>const written = [];\
    const fillText = CanvasRenderingContext2D.prototype.fillText;\
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) { written.push(text); return fillText.call(this, text, ...rest); };\
    </script>";

/// Faults of a page at its width, told to the frame around it: headless windows are at least 500 pixels wide, frames
/// are not.
const FITS: &str = r##"<script>setTimeout(() => {
const root = document.documentElement, wide = root.clientWidth, wrong = [];
if (Math.max(root.scrollWidth, document.body.scrollWidth) > wide) wrong.push(`wider than ${wide} pixels: ${root.scrollWidth}`);
for (const cell of document.querySelectorAll("td, th")) {
  const text = cell.innerText || "";
  if ((text.match(/[\u4e00-\u9fff]/g) || []).length < 6 || !cell.getClientRects().length) continue;
  const style = getComputedStyle(cell), size = parseFloat(style.fontSize);
  const inner = cell.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  if (inner < 6 * size - 1) wrong.push(`a cell of ${Math.round(inner)} pixels: ${text.slice(0, 20)}`);
}
const bare = (mark) => mark.outerHTML.replace(/(stroke|fill)="(#[0-9a-f]+|rgb[^"]*)"/g, "");
for (const legend of document.querySelectorAll(".u-legend")) {
  const rows = [...legend.querySelectorAll(".u-series")].filter((row) => row.getClientRects().length);
  const marks = rows.map((row) => row.querySelector(".u-marker svg"));
  if (marks.some((mark) => mark === null)) wrong.push(`a legend without a mark: ${legend.innerText}`);
  else if (new Set(marks.map(bare)).size < marks.length) wrong.push(`only colour tells apart: ${legend.innerText}`);
  const chart = legend.closest(".fill, .chart");
  if (chart && legend.getBoundingClientRect().bottom > chart.getBoundingClientRect().bottom + 24) wrong.push(`a legend below its chart: ${legend.innerText}`);
}
for (const image of document.querySelectorAll("main img")) {
  if (image.naturalWidth === 0) wrong.push("a picture that is none");
  // Pictures have words of 22 and more of their 1600 pixels.
  else if (image.clientWidth / image.naturalWidth * 22 < 9) wrong.push(`a picture of ${image.clientWidth} pixels`);
}
const odd = written.filter((text) => /undefined|null|e[3-9]\d\b|e[12]\d\d/.test(text));
if (odd.length) wrong.push(`beside an axis: ${odd.slice(0, 4)}`);
if (document.documentElement.lang.startsWith("zh") && /\bstep \d/.test(document.querySelector("main").innerText)) {
  wrong.push(`a step in English: ${/.{0,20}\bstep \d.{0,10}/.exec(document.querySelector("main").innerText)[0]}`);
}
parent.postMessage(wrong.join("; ") || "fits", "*");
}, 700)</script></body>"##;

/// A page that shows others one after the other, each in a frame of each width, and collects what is wrong with them.
const FRAMES: &str = r##"<!doctype html><body style="margin:0"><p id="told"></p><script>
const open = [...PAGES].flatMap((page) => [1366, 390].map((width) => [page, width])), wrong = [];
const next = () => {
  document.querySelector("iframe")?.remove();
  if (!open.length) { document.getElementById("told").textContent = wrong.join("\n") || "all fit"; return; }
  const [page, width] = open.shift();
  onmessage = ({ data }) => { if (data !== "fits") wrong.push(`${page} ${width}: ${data}`); next(); };
  const frame = document.createElement("iframe");
  frame.style = `width:${width}px;height:900px;border:0`;
  frame.src = page;
  document.body.append(frame);
};
next();
</script></body>"##;

/// Every check in both languages, on a desk and a phone, in light and dark.
#[test]
#[ignore = "needs chromium"]
fn every_page_fits_a_desk_and_a_phone_and_needs_no_colour_to_be_read() {
    let mut pages = Vec::new();
    for language in Language::ALL {
        for case in CASES {
            pages.push((
                format!("fits-{}-{}.html", case.name, language.tag()),
                crate::reports::page::page(case.name, language),
            ));
        }
        for (name, out) in gallery::written(language, &folder().join("gallery")) {
            let html = fs::read_to_string(out.join("report.html")).expect("a page");
            pages.push((format!("fits-shown-{name}-{}.html", language.tag()), html));
        }
    }
    for (file, html) in &pages {
        let recorded = html.replacen("<body>", &format!("<body>{RECORDS}"), 1);
        written(file, &recorded.replace("</body>", FITS));
    }
    let files: Vec<&String> = pages.iter().map(|(file, _)| file).collect();
    let frames = FRAMES.replace("PAGES", &serde_json::to_string(&files).expect("JSON"));
    let frames = written("frames.html", &frames);
    let mut wrong = String::new();
    for scheme in ["light", "dark"] {
        let mut arguments = vec!["--window-size=1400,1000", "--virtual-time-budget=600000", "--dump-dom"];
        arguments.extend((scheme == "dark").then_some("--force-dark-mode"));
        let document = chromium(&arguments, &frames);
        let told = document.split("<p id=\"told\">").nth(1).and_then(|rest| rest.split("</p>").next()).expect("told");
        if told != "all fit" {
            wrong.push_str(&format!("{scheme}:\n{told}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A single 1e300, or infinity, leaves the axes to the other values: what is beyond stands at the edge.
#[test]
#[ignore = "needs chromium"]
fn no_single_number_flattens_an_axis() {
    // A folder of its own: the pages of all checks are written at the same time.
    let out = gallery::of(gallery::SPOILED, Language::En, &folder().join("spoiled"));
    let html = fs::read_to_string(out.join("report.html")).expect("a page");
    let check = "<script>setTimeout(() => { const ticks = written.filter((text) => /^\\d+(\\.\\d+)?$/.test(text)); \
        document.body.dataset.ticks = ticks.join(' '); }, 500)</script></body>";
    let html = html.replacen("<body>", &format!("<body>{RECORDS}"), 1).replace("</body>", check);
    let document = chromium(&["--virtual-time-budget=3000", "--dump-dom"], &written("spoiled.html", &html));
    let ticks = document.split("data-ticks=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("ticks");
    assert!(["3", "4", "5"].iter().all(|tick| ticks.split(' ').any(|one| one == *tick)), "{ticks}");
}

/// Numbers beside an axis and in a table, by the page's scripts and by the pictures and documents beside it.
#[test]
#[ignore = "needs chromium"]
fn the_page_writes_numbers_as_the_pictures_do() {
    const BASE: &str = include_str!("../../templates/report/page/base.js");
    let values = [
        0.0, 1.0, 0.5, 0.125, 0.1, 0.05046, 0.05, 0.01, 1e-3, 1e-4, 9.99e-5, 1e-5, 2.5e-7, 1e-12, 5e-324, 9.999, 10.0,
        12.5, 34.21, 1234.6, 123_456.0, 1e6, 1.5e300, -0.125, -1e-7, -20.0,
    ];
    let told: Vec<_> = values
        .iter()
        .map(|value| (value, messages::tick(*value), messages::signed_tick(*value), messages::short_number(*value)))
        .collect();
    let expected = serde_json::to_string(&told).expect("JSON");
    let html = format!(
        "<!doctype html><html lang=\"en\"><body><script type=\"application/json\" id=\"data\">\
         {{\"words\":{{}},\"labels\":[\"GPU\",\"NPU\"]}}</script><script>{BASE}\n\
         const wrong = {expected}.filter(([value, one, other, third]) => tick(value) !== one || signedTick(value) !== other || short(value) !== third);\n\
         document.body.dataset.wrong = JSON.stringify(wrong.map(([value, ...all]) => [value, ...all, tick(value), signedTick(value), short(value)]));\
         </script></body></html>"
    );
    let document = chromium(&["--dump-dom"], &written("numbers.html", &html));
    assert!(document.contains("data-wrong=\"[]\""), "{document}");
}
