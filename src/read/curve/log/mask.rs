//! Parts of a line that hold digits and are no values: dates, times, addresses, places in source files, paths.

use std::ops::Range;

use memchr::memchr;

/// End of the date, time, address or version that begins at `at`, with a digit there; `None` where a number begins.
pub(super) fn figure_end(line: &[u8], at: usize) -> Option<usize> {
    date(line, at).or_else(|| time(line, at)).or_else(|| dotted(line, at)).or_else(|| hexadecimal(line, at))
}

/// Whether a part of a line is a date, a time, an address of the network or a version, whatever its figures are.
pub(super) fn is_date_or_figure(line: &[u8], part: Range<usize>) -> bool {
    let is_hexadecimal = hexadecimal(line, part.start).is_some();
    byte(line, part.start).is_ascii_digit() && !is_hexadecimal
        || month_date_end(line, part.start, part.start + 3) == Some(part.end)
}

fn byte(line: &[u8], at: usize) -> u8 {
    line.get(at).copied().unwrap_or_default()
}

/// End of the digits from `at` on, where their number lies in `range`.
fn digits(line: &[u8], at: usize, range: std::ops::RangeInclusive<usize>) -> Option<usize> {
    let len = line.get(at..)?.iter().take(*range.end() + 1).take_while(|byte| byte.is_ascii_digit()).count();
    range.contains(&len).then_some(at + len)
}

/// End of a date and of the time after it: `2026-05-01`, `2026/5/1`, `05/01/26`.
fn date(line: &[u8], at: usize) -> Option<usize> {
    let of = |first: std::ops::RangeInclusive<usize>, last: std::ops::RangeInclusive<usize>| {
        let first = digits(line, at, first)?;
        let sign = byte(line, first);
        if !matches!(sign, b'-' | b'/') {
            return None;
        }
        let second = digits(line, first + 1, 1..=2)?;
        (byte(line, second) == sign).then_some(())?;
        digits(line, second + 1, last)
    };
    let end = of(4..=4, 1..=2).or_else(|| of(2..=2, 2..=4).filter(|end| end - at >= 8))?;
    let behind = match byte(line, end) {
        b'T' | b' ' | b'_' | b'-' => time(line, end + 1),
        b',' if byte(line, end + 1) == b' ' => time(line, end + 2),
        _ => None,
    };
    Some(behind.unwrap_or(end))
}

/// End of a time and of the zone after it: `10:11:12`, `00:12`, `10:11:12,123`, `2:03:04.5`.
fn time(line: &[u8], at: usize) -> Option<usize> {
    let hours = digits(line, at, 1..=3)?;
    (byte(line, hours) == b':').then_some(())?;
    let mut end = digits(line, hours + 1, 2..=2)?;
    if byte(line, end) == b':' {
        end = digits(line, end + 1, 2..=2)?;
    }
    if matches!(byte(line, end), b'.' | b',') && byte(line, end + 1).is_ascii_digit() {
        end = digits(line, end + 1, 1..=9)?;
    }
    match byte(line, end) {
        b'Z' => Some(end + 1),
        b'+' | b'-' if byte(line, end + 1).is_ascii_digit() => {
            let hours = digits(line, end + 1, 2..=4)?;
            if byte(line, hours) == b':' { digits(line, hours + 1, 2..=2) } else { Some(hours) }
        }
        next if next.is_ascii_alphanumeric() => None,
        _ => Some(end),
    }
}

/// `10.0.0.1:8080`, `2.7.1`.
fn dotted(line: &[u8], at: usize) -> Option<usize> {
    let rest = line.get(at..)?;
    let len = rest.iter().take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b':')).count();
    let figure = rest.get(..len)?;
    let dots = figure.windows(2).filter(|pair| matches!(pair, [b'.', digit] if digit.is_ascii_digit())).count();
    (dots >= 2).then_some(at + len)
}

/// `0x7f3a`.
fn hexadecimal(line: &[u8], at: usize) -> Option<usize> {
    let rest = line.get(at..)?.strip_prefix(b"0x")?;
    let len = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    (len > 0).then_some(at + 2 + len)
}

/// End of a date such as `May 01 10:11:12 2026`, where the word `start..end` is the month.
pub(super) fn month_date_end(line: &[u8], start: usize, end: usize) -> Option<usize> {
    const MONTHS: [&[u8]; 12] =
        [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
    let word = line.get(start..end)?;
    (word.len() == 3 && MONTHS.contains(&word)).then_some(())?;
    let blank = |at: usize| line.get(at..).map_or(at, |rest| at + rest.iter().take_while(|b| **b == b' ').count());
    let day = digits(line, blank(end), 1..=2)?;
    let behind = time(line, blank(day))?;
    let year = blank(behind);
    Some(if year > behind { digits(line, year, 4..=4).unwrap_or(behind) } else { behind })
}

/// Extensions of files that logs name.
const FILES: [&str; 30] = [
    "py",
    "pt",
    "pth",
    "ckpt",
    "json",
    "jsonl",
    "yaml",
    "yml",
    "safetensors",
    "bin",
    "txt",
    "log",
    "csv",
    "tsv",
    "cc",
    "cpp",
    "cu",
    "h",
    "rs",
    "go",
    "js",
    "sh",
    "so",
    "npy",
    "npz",
    "pkl",
    "tar",
    "gz",
    "onnx",
    "h5",
];

/// Whether a word is a path or an address on the web.
pub(super) fn is_path(word: &str) -> bool {
    let extension = || word.rsplit_once('.').map(|(_, extension)| extension);
    word.starts_with('/') || word.contains("//") || extension().is_some_and(|extension| FILES.contains(&extension))
}

/// End of the line number after a path that ends at `end`: `:42`, or ` 178` before a closing bracket. `end` where there is none.
pub(super) fn line_number_end(line: &[u8], end: usize) -> usize {
    let number = |sign: u8| (byte(line, end) == sign).then(|| digits(line, end + 1, 1..=6)).flatten();
    number(b':').or_else(|| number(b' ').filter(|end| matches!(byte(line, *end), b')' | b']'))).unwrap_or(end)
}

/// End of the bracket that opens at `at`, where its content names the process or place that wrote the line: `(Task pid=17)`, `(trainer:793)`,
/// `[1,0]<stdout>:`, `[DRIVER 0 / 8]`, `[loggers.py line 88]`.
pub(super) fn writer_end(line: &[u8], at: usize) -> Option<usize> {
    /// Longest such bracket.
    const WIDTH: usize = 96;
    let open = byte(line, at);
    let rest = line.get(at + 1..)?;
    let rest = rest.get(..rest.len().min(WIDTH))?;
    let len = memchr(if open == b'(' { b')' } else { b']' }, rest)?;
    let inside = rest.get(..len)?;
    let end = at + len + 2;
    let is_process = memchr::memmem::find(inside, b"pid=").is_some() || memchr::memmem::find(inside, b"PID ").is_some();
    let is_place = || {
        let (name, number) = std::str::from_utf8(inside).ok()?.rsplit_once(':')?;
        let is_name = name.starts_with(|sign: char| sign.is_ascii_alphabetic()) && !name.contains(['=', ',', ' ']);
        (is_name && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(())
    };
    let is_worker = || {
        let mut words = std::str::from_utf8(inside).ok()?.split([' ', '/']).filter(|word| !word.is_empty());
        let (name, number, last) = (words.next()?, words.next()?, words.next()?);
        // A name in capitals that is one of several, `[DRIVER 0 / 8]`, unless it is a counter or names data.
        let shouts = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        let is_line = is_path(name) && number == "line" && is_number(last);
        let is_one_of = inside.contains(&b'/') && is_number(number) && is_number(last);
        let counts = super::counter_words::is_counter(name) || super::names::data_of_word(name).is_some();
        (words.next().is_none() && (is_line || (shouts && is_one_of && !counts))).then_some(())
    };
    let is_stream = line.get(end..).is_some_and(|behind| behind.starts_with(b"<std"));
    (is_process || is_stream || is_place().is_some() || is_worker().is_some()).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_that_are_no_numbers_are_told() {
        for (text, end) in [
            ("2026-05-01T10:11:12.1Z rest", Some(22)),
            ("2026-05-01 10:11:12,123 - x", Some(23)),
            ("05/01/26 10:11:12] x", Some(17)),
            ("10:11:12 x", Some(8)),
            ("00:12", Some(5)),
            ("1: 10.8", None),
            ("3/30", None),
            ("10.0.0.1:8080", Some(13)),
            ("2.71", None),
            ("0x7f", Some(4)),
            ("2026", None),
        ] {
            assert_eq!(figure_end(text.as_bytes(), 0), end, "{text}");
        }
        assert_eq!(month_date_end(b"May 01 10:11:12 gpu01", 0, 3), Some(15));
        assert_eq!(month_date_end(b"May be", 0, 3), None);
        assert!(is_path("ckpt/step12-loss2.31.pt") && is_path("/data/x") && !is_path("train/loss"));
        assert_eq!(writer_end(b"(trainer:793) INFO", 0), Some(13));
        assert_eq!(writer_end(b"(TaskRunner pid=1, ip=10.0.0.1) x", 0), Some(31));
        assert_eq!(writer_end(b"[1,0]<stdout>:x", 0), Some(5));
        assert_eq!(writer_end(b"[DRIVER 0 / 8][PID 1346]", 0), Some(14));
        assert_eq!(writer_end(b"[ACTOR_TRAIN 3/8] x", 0), Some(17));
        assert_eq!(writer_end(b"[loggers.py line 88] x", 0), Some(20));
        for no in ["[0/4][1/2]", "[EPOCH 3/8]", "[TRAIN 3/60]", "[LOSS 2.5 / 3]", "[Loss 2 / 3]"] {
            assert_eq!(writer_end(no.as_bytes(), 0), None, "{no}");
        }
    }
}
