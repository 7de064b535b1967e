//! The book: its contents list every page, and the built pages hold together without a network.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use super::pages::{files_below, links, read, root};

/// The list of contents.
const SUMMARY: &str = "docs/SUMMARY.md";

#[test]
fn the_contents_list_every_page_once() {
    let listed = links(&read(Path::new(SUMMARY)));
    let pages = files_below("docs", ".md").into_iter().filter(|page| page != Path::new(SUMMARY));
    let pages: BTreeSet<String> =
        pages.map(|page| page.strip_prefix("docs").expect("below docs").display().to_string()).collect();
    let known: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(known, pages, "pages of {SUMMARY}, and pages of docs/");
    assert_eq!(listed.len(), known.len(), "a page is listed twice");
}

/// Attributes of built pages: the tag's name, the attribute's and its value.
fn attributes(html: &str) -> Vec<(String, String, String)> {
    let tag = Regex::new(r"<([a-z][a-z0-9]*)\s([^<>]*)>").expect("a pattern");
    let attribute = Regex::new(r#"\b(href|src|srcset|id|name)="([^"]*)""#).expect("a pattern");
    let of_tag = |found: regex::Captures| {
        let name = found[1].to_owned();
        let all = attribute.captures_iter(&found[2]);
        all.map(|found| (name.clone(), found[1].to_owned(), found[2].replace("&amp;", "&"))).collect::<Vec<_>>()
    };
    tag.captures_iter(html).flat_map(of_tag).collect()
}

/// A built page: its text, and what is named in it.
struct Built {
    ids: BTreeSet<String>,
    attributes: Vec<(String, String, String)>,
}

fn built(folder: &Path) -> BTreeMap<PathBuf, Built> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(inner) = folders.pop() {
        for path in
            fs::read_dir(&inner).expect("run `mdbook build docs` before").map(|entry| entry.expect("one").path())
        {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "html") {
                let attributes = attributes(&fs::read_to_string(&path).expect("text"));
                let ids = attributes.iter().filter(|(_, name, _)| name == "id").map(|(_, _, id)| id.clone()).collect();
                let name = path.strip_prefix(folder).expect("below").to_owned();
                found.insert(name, Built { ids, attributes });
            }
        }
    }
    found
}

/// The page and the anchor that an address on `page` leads to; `None` for addresses elsewhere.
fn led_to(page: &Path, address: &str) -> Option<(PathBuf, String)> {
    if address.contains("://") || address.starts_with("data:") || address.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = address.split_once('#').unwrap_or((address, ""));
    let path = path.split('?').next().unwrap_or_default();
    let mut parts: Vec<&str> = Vec::new();
    let folder = page.parent().and_then(Path::to_str).unwrap_or_default();
    let page = page.to_str().unwrap_or_default();
    let whole = if path.is_empty() { page.to_owned() } else { format!("{folder}/{path}") };
    for part in whole.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." { parts.pop().map(|_| ())? } else { parts.push(part) }
    }
    Some((parts.into_iter().collect(), anchor.to_owned()))
}

/// Percent signs and two digits as the bytes that they stand for.
fn decoded(anchor: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = anchor.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).filter(|_| *first == b'%').and_then(|two| std::str::from_utf8(two).ok());
        match code.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
#[ignore = "needs the book: `mdbook build docs`"]
fn the_built_book_holds_together() {
    let folder = root().join("target/book");
    let (pages, mut wrong, mut seen) = (built(&folder), Vec::new(), 0);
    for (page, built) in &pages {
        // The page for what is not found stands at any depth, below the address of the site.
        for (tag, name, value) in built.attributes.iter().filter(|_| page != Path::new("404.html")) {
            let loads = ["script", "link", "img", "iframe", "source"].contains(&tag.as_str()) && name != "id";
            if loads && (value.contains("://") || value.starts_with("//")) {
                wrong.push(format!("{} loads {value}", page.display()));
            }
            let is_link = ["href", "src"].contains(&name.as_str());
            let Some((path, anchor)) = led_to(page, value).filter(|_| is_link) else { continue };
            seen += 1;
            let is_there = folder.join(&path).is_file();
            let lost =
                !anchor.is_empty() && pages.get(&path).is_some_and(|built| !built.ids.contains(&decoded(&anchor)));
            if !is_there || lost {
                wrong.push(format!("{}: {value} leads nowhere", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 2000, "{seen} links");

    let remote = Regex::new(r#"(?:url\(|@import)\s*["']?(?:https?:)?//"#).expect("a pattern");
    let styles: Vec<_> = files_below("target/book", ".css").into_iter().map(|path| (read(&path), path)).collect();
    let loading: Vec<_> = styles.iter().filter(|(text, _)| remote.is_match(text)).map(|(_, path)| path).collect();
    assert!(loading.is_empty() && styles.len() > 3, "{loading:?} load from elsewhere");

    let contents = Path::new("toc.html");
    let listed: BTreeSet<PathBuf> = pages[contents]
        .attributes
        .iter()
        .filter(|(_, name, _)| name == "href")
        .filter_map(|(_, _, value)| led_to(contents, value))
        .map(|(path, _)| path)
        .collect();
    let aside = ["404.html", "toc.html", "index.html", "print.html"].map(PathBuf::from);
    let unreachable: Vec<_> = pages.keys().filter(|page| !listed.contains(*page) && !aside.contains(page)).collect();
    assert!(unreachable.is_empty(), "{unreachable:?}");
    assert!(listed.len() > 45, "{}", listed.len());
}
