//! Links of the pages lead somewhere: to files of the repository, to headings of pages, and, in messages of the program, to
//! pages of its documents.

use std::path::{Component, Path, PathBuf};

use regex::Regex;

use super::pages::{anchors, files_below, links, pages, read, root};

/// Beginning of full addresses of files and folders of this repository.
const REPOSITORY: &str = "https://github.com/precision-gate/precision-gate/";

/// Beginning of full addresses of the published book's pages.
const BOOK: &str = "https://precision-gate.github.io/precision-gate/";

/// A path without `.` and `..`; `None` where it leaves the repository.
fn settled(path: &Path) -> Option<PathBuf> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name),
            Component::ParentDir => {
                parts.pop()?;
            }
            _ => {}
        }
    }
    Some(parts.into_iter().collect())
}

/// The reason why a target that stands on a page leads nowhere.
fn fault(page: &Path, target: &str) -> Option<String> {
    let (target, anchor) = target.split_once('#').unwrap_or((target, ""));
    let full = target.strip_prefix(REPOSITORY).and_then(|way| {
        let (kind, rest) = way.split_once('/')?;
        let (_, path) = rest.split_once('/')?;
        Some((kind.to_owned(), path.to_owned())).filter(|(kind, _)| ["blob", "tree"].contains(&kind.as_str()))
    });
    // The published book, as the one that is made here.
    let published = target.strip_prefix(BOOK).and_then(|name| name.strip_suffix(".html"));
    let path = match &full {
        None if published.is_some() => Path::new("docs").join(format!("{}.md", published.unwrap_or_default())),
        Some((_, path)) => PathBuf::from(path),
        None if target.contains("://") || target.starts_with("mailto:") => return None,
        None if target.is_empty() => page.to_owned(),
        None => settled(&page.parent().unwrap_or(Path::new("")).join(target))?,
    };
    let found = root().join(&path);
    if !found.exists() {
        return Some(format!("there is no {}", path.display()));
    }
    if full.as_ref().is_some_and(|(kind, _)| (kind == "tree") != found.is_dir()) {
        return Some("`blob` names a file, `tree` a folder".into());
    }
    // A link that leaves the folder works on the forge alone.
    if full.is_none() && published.is_none() && page.starts_with("docs") && !path.starts_with("docs") {
        return Some(format!("leaves docs/: write {REPOSITORY}blob/main/{}", path.display()));
    }
    let is_page = path.extension().is_some_and(|end| end == "md");
    let is_lost = is_page && !anchor.is_empty() && !anchors(&read(&path)).iter().any(|known| known == anchor);
    is_lost.then(|| format!("{} has no heading `{anchor}`", path.display()))
}

#[test]
fn every_link_of_a_page_leads_somewhere() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for page in pages().into_iter().chain(files_below("examples", "README.md")) {
        for target in links(&read(&page)) {
            seen += 1;
            wrong.extend(fault(&page, &target).map(|why| format!("{}: {target}: {why}", page.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 500, "{seen}");
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let page = Path::new("docs/loss.md");
    for target in [
        "gone.md",
        "rl.md#gone",
        "#gone",
        "../README.md",
        "https://github.com/precision-gate/precision-gate/blob/main/gone.md",
        "https://github.com/precision-gate/precision-gate/blob/main/examples",
        "https://github.com/precision-gate/precision-gate/blob/v0.1.0/docs/rl.md#gone",
        "https://precision-gate.github.io/precision-gate/gone.html",
        "https://precision-gate.github.io/precision-gate/findings.html#gone",
    ] {
        assert!(fault(page, target).is_some(), "{target}");
    }
    for target in [
        "rl.md",
        "#policy",
        "formats/ptdbg.md",
        "findings.md#near-tie",
        "https://precision-gate.github.io/precision-gate/findings.zh.html#near-tie",
        "https://example.org/gone.md",
    ] {
        assert_eq!(fault(page, target), None, "{target}");
    }
}

/// Files whose texts reach people without a checkout.
fn files_with_messages() -> Vec<PathBuf> {
    let named = ["action.yml", "binary/action.yml", "binary/install.sh", "publish/action.yml"].map(PathBuf::from);
    let below = [("src", ".rs"), ("crates", ".rs"), ("templates", ""), ("examples/pipelines", ".yml")];
    let is_text = |path: &PathBuf| !path.starts_with("templates/fonts") && !path.starts_with("templates/report/vendor");
    below.into_iter().flat_map(|(folder, ending)| files_below(folder, ending)).filter(is_text).chain(named).collect()
}

/// Pages that a text names by `documentation!`, `documentation(…)`, as the page of a code, or by a full address.
fn named_pages(text: &str) -> Vec<String> {
    let forms = [
        r#"\bdocumentation!\(\s*"([^"]+)""#,
        r"\bdocumentation\('([^']+)'\)",
        r"\{\{ documents \}\}([a-z./-]+\.md)",
        r"\bpage: ([a-z./-]+\.md[^,}\s]*)",
        r"precision-gate/blob/v[0-9.]+/docs/([a-z./-]+\.md(?:#[\w-]+)?)",
    ];
    let found = |form: &str| {
        let form = Regex::new(form).expect("a pattern");
        form.captures_iter(text).map(|found| found[1].to_owned()).collect::<Vec<_>>()
    };
    forms.into_iter().flat_map(found).collect()
}

#[test]
fn every_page_that_a_message_names_is_there() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for file in files_with_messages() {
        for target in named_pages(&read(&file)) {
            seen += 1;
            let address = format!("{REPOSITORY}blob/main/docs/{target}");
            wrong.extend(fault(&file, &address).map(|why| format!("{}: {target}: {why}", file.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 120, "{seen}");
}

#[test]
fn no_message_names_a_page_by_its_path_alone() {
    let bare = Regex::new(r"(^|[^\w/.])docs/[a-z./-]+\.md").expect("a pattern");
    let mut wrong = Vec::new();
    for file in files_with_messages() {
        // Comments of sources and catalogues are read in a checkout. Templates and pipelines are copied with their comments.
        let comment = match file.extension().and_then(|end| end.to_str()) {
            Some("rs") => "//",
            Some("yaml" | "py") => "#",
            _ => "\0",
        };
        let text = read(&file);
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let lines = text.lines().filter(|line| !line.trim_start().starts_with(comment) && bare.is_match(line));
        wrong.extend(lines.map(|line| format!("{}: {}", file.display(), line.trim())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
