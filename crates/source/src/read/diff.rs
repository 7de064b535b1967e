//! Unified diffs: the lines of each file that a change adds or alters, on its new side.

use std::collections::BTreeMap;

use super::touched::{ChangedLines, Touched};

/// Largest diff that is read, in bytes: a change of a million lines.
pub const MOST_BYTES: u64 = 64 << 20;

/// Files that a change touches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// By path on the new side.
    files: BTreeMap<String, Touched>,
    /// Whether a link is among the files.
    has_links: bool,
}

impl Diff {
    /// Reads a unified diff with any number of lines of context.
    ///
    /// # Errors
    /// The line and what is wrong there, where the text is no unified diff.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let mut reading = Reading::default();
        for (place, line) in text.split(|byte| *byte == b'\n').enumerate() {
            reading.line(line).map_err(|error| format!("line {}: {error}", place + 1))?;
        }
        if !reading.has_seen_any && text.iter().any(|byte| !byte.is_ascii_whitespace()) {
            return Err("it has no line that begins with `diff --git`, `---` or `+++`".into());
        }
        if reading.left_new > 0 || reading.left_old > 0 {
            return Err("its last hunk is cut short".into());
        }
        for touched in reading.diff.files.values_mut() {
            if let Touched::Lines(lines) = touched {
                *lines = std::mem::take(lines).sorted();
            }
        }
        Ok(reading.diff)
    }

    /// Number of files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether it touches no file.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether the change makes, alters or removes a link.
    pub fn has_links(&self) -> bool {
        self.has_links
    }

    /// Lines that are touched of `path` below a folder whose own path is `root`; `None` where the change does not touch the file.
    ///
    /// A diff's paths are those of its repository, of which `root` may be a part.
    pub fn touched(&self, path: &str, root: &str) -> Option<&Touched> {
        if let Some(touched) = self.files.get(path) {
            return Some(touched);
        }
        let root = root.trim_end_matches('/');
        let parts: Vec<&str> = root.split('/').filter(|part| !part.is_empty()).collect();
        (0..parts.len()).find_map(|start| {
            let prefix = parts.get(start..)?.join("/");
            self.files.get(&format!("{prefix}/{path}"))
        })
    }
}

#[derive(Default)]
struct Reading {
    diff: Diff,
    file: Option<String>,
    /// Both names of the file, as `diff --git` has them.
    sides: Vec<u8>,
    has_seen_any: bool,
    /// The next line of the new side.
    next: u64,
    left_old: u64,
    left_new: u64,
}

impl Reading {
    fn line(&mut self, line: &[u8]) -> Result<(), String> {
        if self.left_old > 0 || self.left_new > 0 {
            return self.of_hunk(line);
        }
        if line.starts_with(b"@@@") {
            return Err("a diff of a merge has no single old side; make it with `git diff A...B`".into());
        }
        if let Some(header) = line.strip_prefix(b"@@ ") {
            return self.hunk(header);
        }
        if let Some(path) = line.strip_prefix(b"+++ ") {
            self.has_seen_any = true;
            self.file = named(path);
            if let Some(file) = &self.file {
                self.diff.files.entry(file.clone()).or_insert_with(|| Touched::Lines(ChangedLines::default()));
            }
        } else if let Some(sides) = line.strip_prefix(b"diff --git ") {
            self.sides = sides.to_vec();
        } else if line == b"GIT binary patch" {
            let path = sides_of(&self.sides, b" ");
            self.whole(path);
        } else if let Some(sides) = line.strip_prefix(b"Binary files ").and_then(|rest| rest.strip_suffix(b" differ")) {
            self.has_seen_any = true;
            self.whole(sides_of(sides, b" and "));
        }
        self.diff.has_links |= line.ends_with(b" 120000");
        self.has_seen_any |= line.starts_with(b"diff --git ") || line.starts_with(b"--- ");
        Ok(())
    }

    fn whole(&mut self, path: Option<String>) {
        self.diff.files.extend(path.map(|path| (path, Touched::Whole)));
    }

    fn hunk(&mut self, header: &[u8]) -> Result<(), String> {
        let text = String::from_utf8_lossy(header);
        let mut parts = text.split(' ');
        let range = |part: Option<&str>, sign: char| {
            let part = part?.strip_prefix(sign)?;
            let (start, count) = part.split_once(',').unwrap_or((part, "1"));
            Some((start.parse::<u64>().ok()?, count.parse::<u64>().ok()?))
        };
        let (old, new) = (range(parts.next(), '-'), range(parts.next(), '+'));
        let (Some((_, old)), Some((start, new))) = (old, new) else {
            return Err("expects `@@ -line,count +line,count @@`".into());
        };
        // A hunk without new lines stands behind the line that it names.
        let next = if new == 0 { start.saturating_add(1) } else { start };
        (self.left_old, self.left_new, self.next) = (old, new, next);
        Ok(())
    }

    /// The lines of the present file.
    fn lines(&mut self) -> Option<&mut ChangedLines> {
        match self.file.as_ref().and_then(|file| self.diff.files.get_mut(file)) {
            Some(Touched::Lines(lines)) => Some(lines),
            _ => None,
        }
    }

    fn of_hunk(&mut self, line: &[u8]) -> Result<(), String> {
        let next = self.next;
        match line.first() {
            Some(b'+') => {
                self.lines().into_iter().for_each(|lines| lines.add(next));
                self.next = self.next.saturating_add(1);
                self.left_new = self.left_new.checked_sub(1).ok_or("more added lines than its hunk says")?;
            }
            Some(b'-') => {
                self.lines().into_iter().for_each(|lines| lines.add_gap(next.saturating_sub(1)));
                self.left_old = self.left_old.checked_sub(1).ok_or("more removed lines than its hunk says")?;
            }
            Some(b'\\') => {}
            // Some tools drop the space of an empty line.
            Some(b' ' | b'\r') | None => {
                self.next = self.next.saturating_add(1);
                self.left_old = self.left_old.saturating_sub(1);
                self.left_new = self.left_new.saturating_sub(1);
            }
            _ => return Err("expects a line that begins with a space, `+` or `-`".into()),
        }
        Ok(())
    }
}

/// The path of a `+++` line; `None` for a file that is deleted.
fn named(line: &[u8]) -> Option<String> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let path = match line.strip_prefix(b"\"") {
        Some(quoted) => unquoted(quoted),
        // Other tools put a date behind a tab.
        None => line.split(|byte| *byte == b'\t').next().unwrap_or(line).to_vec(),
    };
    let path = String::from_utf8_lossy(&path).into_owned();
    if path == "/dev/null" {
        return None;
    }
    // `git diff` writes `b/`, with `diff.mnemonicPrefix` another letter.
    let prefixes = ["b/", "w/", "i/", "c/", "o/"];
    let plain = prefixes.iter().find_map(|prefix| path.strip_prefix(prefix));
    let plain = plain.unwrap_or(&path);
    Some(plain.strip_prefix("./").unwrap_or(plain).to_owned())
}

/// The new side's path of two that stand side by side; `None` where it is deleted. Names may hold what separates them: where
/// they are alike but for their prefix, that tells where they part.
fn sides_of(sides: &[u8], separator: &[u8]) -> Option<String> {
    let places: Vec<usize> = memchr::memmem::find_iter(sides, separator).collect();
    let parts = places.iter().map(|place| (sides.get(..*place), sides.get(place + separator.len()..)));
    let parts: Vec<(&[u8], &[u8])> = parts.filter_map(|(old, new)| Some((old?, new?))).collect();
    let is_of_one = |(old, new): &&(&[u8], &[u8])| match (old_name(old), named(new)) {
        (Some(old), Some(new)) => old == new,
        _ => true,
    };
    let (_, new) = parts.iter().find(is_of_one).or(parts.last())?;
    named(new)
}

/// The path of an old side, without its prefix; `None` for a file that is new.
fn old_name(line: &[u8]) -> Option<String> {
    let path = named(line)?;
    Some(path.strip_prefix("a/").map_or(path.clone(), str::to_owned))
}

/// A path as git quotes it: backslashes, and other bytes in octal digits.
fn unquoted(quoted: &[u8]) -> Vec<u8> {
    let mut path = Vec::new();
    let mut bytes = quoted.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => break,
            b'\\' => match bytes.next() {
                Some(first @ b'0'..=b'7') => {
                    let mut value = u32::from(first - b'0');
                    for _ in 0..2 {
                        if let Some(digit) = bytes.next_if(|byte| (b'0'..=b'7').contains(byte)) {
                            value = value * 8 + u32::from(digit - b'0');
                        }
                    }
                    path.push(u8::try_from(value & 0xff).unwrap_or(b'?'));
                }
                Some(b'n') => path.push(b'\n'),
                Some(b't') => path.push(b'\t'),
                Some(other) => path.push(other),
                None => {}
            },
            byte => path.push(byte),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(diff: &Diff, path: &str) -> Option<Vec<u64>> {
        match diff.touched(path, "")? {
            Touched::Whole | Touched::Nothing => None,
            Touched::Lines(lines) => Some(lines.lines()),
        }
    }

    #[test]
    fn a_file_that_a_diff_calls_binary_is_touched_as_a_whole() {
        let text = "diff --git a/a b and c.py b/a b and c.py\nindex 1..2 100644\n\
                    Binary files a/a b and c.py and b/a b and c.py differ\n\
                    diff --git a/new.py b/new.py\nnew file mode 120000\nBinary files /dev/null and b/new.py differ\n\
                    diff --git a/gone.py b/gone.py\nBinary files a/gone.py and /dev/null differ\n\
                    diff --git a/patch.py b/patch.py\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZQ\n";
        let diff = Diff::parse(text.as_bytes()).expect("a diff");
        for file in ["a b and c.py", "new.py", "patch.py"] {
            assert_eq!(diff.touched(file, ""), Some(&Touched::Whole), "{file}");
        }
        assert_eq!((diff.len(), diff.has_links()), (3, true));
    }

    #[test]
    fn added_lines_are_those_of_the_new_side() {
        let text = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,4 +1,5 @@\n one\n-two\n+zwei\n+drei\n three\n four\n@@ -9 +10,0 @@\n-nine\n\
                    diff --git a/gone.py b/gone.py\n--- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
                    Binary files a/logo.png and b/logo.png differ\n\
                    --- /dev/null\n+++ \"b/\\346\\215\\237.py\"\n@@ -0,0 +1 @@\n+++ x\n\\ No newline at end of file\n";
        let diff = Diff::parse(text.as_bytes()).expect("a diff");
        assert_eq!(lines(&diff, "a.py"), Some(vec![2, 3]));
        let has = |span| diff.touched("a.py", "").is_some_and(|touched| touched.touches(span));
        assert!(has((10, 11)) && !has((10, 10)) && !has((11, 11)), "a line was taken out behind the tenth");
        assert_eq!(lines(&diff, "损.py"), Some(vec![1]));
        assert_eq!((lines(&diff, "gone.py"), lines(&diff, "other.py")), (None, None));
    }

    #[test]
    fn paths_may_be_those_of_a_larger_repository() {
        let text = "--- a/src/train.py\n+++ b/src/train.py\n@@ -1 +1 @@\n-a\n+b\n";
        let diff = Diff::parse(text.as_bytes()).expect("a diff");
        assert!(diff.touched("train.py", "/home/me/repo/src").is_some());
        assert!(diff.touched("train.py", "/home/me/other").is_none());
        let plain =
            Diff::parse(b"--- train.py\t2026-01-01\n+++ train.py\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n").expect("a diff");
        assert!(plain.touched("train.py", "").is_some());
    }

    #[test]
    fn what_is_no_diff_is_refused() {
        for text in [
            "import torch\n",
            "--- a\n+++ b\n@@ -1 +x @@\n",
            "--- a\n+++ b\n@@ -1,9 +1,9 @@\n a\n",
            "@@@ -1 -1 +1 @@@\n",
        ] {
            assert!(Diff::parse(text.as_bytes()).is_err(), "{text}");
        }
        assert_eq!(Diff::parse(b""), Ok(Diff::default()), "no change is none");
    }
}
