//! Parts of paths, and the run of a harness that a file belongs to.

/// Folder and name of a path.
pub(super) fn split_folder(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

pub(super) fn last_part(path: &str) -> &str {
    split_folder(path.trim_end_matches('/')).1
}

/// Name of a file without its ending.
pub(super) fn stem(path: &str) -> &str {
    let name = split_folder(path).1;
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Length of a time such as `2026-11-22T11-55-08` at the start of `text`, including a fraction of a second; `None` if there is none.
fn time_len(text: &str) -> Option<usize> {
    const FORM: &[u8] = b"dddd-dd-ddTdd-dd-dd";
    let bytes = text.as_bytes();
    let fits = |(byte, form): (&u8, &u8)| if *form == b'd' { byte.is_ascii_digit() } else { byte == form };
    if bytes.len() < FORM.len() || !bytes.iter().zip(FORM).all(fits) {
        return None;
    }
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let fraction = bytes.get(FORM.len()..).and_then(|rest| rest.strip_prefix(b".")).map_or(0, digits);
    Some(if fraction > 0 { FORM.len() + 1 + fraction } else { FORM.len() })
}

/// Splits the stem of a file such as `samples_town_2026-11-22T11-55-08.26` into the name and the time at its end.
pub(super) fn split_time(path: &str) -> Option<(&str, &str)> {
    let name = split_folder(path).1;
    let name = [".jsonl", ".json"].iter().find_map(|ending| name.strip_suffix(ending))?;
    let (before, time) = name.rsplit_once('_')?;
    (time_len(time) == Some(time.len())).then_some((before, time))
}

/// Whether the name of a folder is a time such as `20261122_122255`.
pub(super) fn is_time_folder(folder: &str) -> bool {
    let (day, time) = folder.split_once('_').unwrap_or_default();
    day.len() == 8 && time.len() == 6 && day.bytes().chain(time.bytes()).all(|byte| byte.is_ascii_digit())
}

/// Folder of the series of runs that `root` belongs to: the folder above a folder named after a time, else `root` itself.
pub(super) fn series_folder(root: &str) -> &str {
    let (above, name) = split_folder(root);
    if is_time_folder(name) { above } else { root }
}

/// Folders of a file in a run: `<root>/<part>/<model>/<name>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InRun<'a> {
    /// Folder of the run; empty at the side's own root.
    pub(super) root: &'a str,
    /// `predictions`, `reviews`, `reports`, `results`.
    pub(super) part: &'a str,
    /// Folder of the model.
    pub(super) model: &'a str,
}

impl<'a> InRun<'a> {
    /// Splits a path; `None` if it has too few folders.
    pub(super) fn from_path(path: &'a str) -> Option<Self> {
        let (folder, _) = path.rsplit_once('/')?;
        let (above, model) = folder.rsplit_once('/')?;
        let (root, part) = split_folder(above);
        Some(Self { root, part, model })
    }
}

/// Letters and digits of a task's name, in lower case. Only these are preserved in the name of a file.
pub(super) fn letters_and_digits(name: &str) -> String {
    name.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_from_names() {
        let path = "a/samples_b_c_2026-11-22T12-29-39.821141.jsonl";
        assert_eq!(split_time(path), Some(("samples_b_c", "2026-11-22T12-29-39.821141")));
        assert_eq!(split_time("results_2026-11-22T12-29-39.json"), Some(("results", "2026-11-22T12-29-39")));
        for path in ["results.json", "results_2026-11-22.json", "results_2026-11-22T12-29-39.x.json", "é_é", ""] {
            assert_eq!(split_time(path), None, "{path}");
        }
        assert!(is_time_folder("20261122_122255"));
        assert!(!is_time_folder("2026112_122255") && !is_time_folder("x"));
    }

    #[test]
    fn folders_tell_run_and_model() {
        let place = InRun { root: "t", part: "reviews", model: "m" };
        assert_eq!(InRun::from_path("t/reviews/m/a.jsonl"), Some(place));
        assert_eq!(InRun::from_path("reviews/m/a.jsonl"), Some(InRun { root: "", ..place }));
        assert_eq!(InRun::from_path("m/a.jsonl"), None);
    }
}
