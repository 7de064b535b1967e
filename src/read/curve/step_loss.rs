//! torchtitan's loss files: `step loss` per line, no header, full `float32` precision.

use super::file::CurveFile;
use super::format::CurveFormat;
use super::lines::{self, Lines};
use super::series::Series;
use crate::error::{Error, Result};
use crate::fetch::ByteSource;

/// Whether a text is such a list, from its first lines.
pub(super) fn recognise(head: &str) -> bool {
    let complete = head.rfind('\n').map_or(head, |end| head.get(..end).unwrap_or(head));
    let mut lines = complete.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut seen = 0;
    let all = lines.by_ref().take(20).all(|line| {
        seen += 1;
        parse(line.as_bytes()).is_some()
    });
    all && seen > 0
}

fn parse(line: &[u8]) -> Option<(u64, f64)> {
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let (step, value) = (words.next()?, words.next()?);
    if words.next().is_some() { None } else { Some((step.parse().ok()?, lines::parse_number(value)?)) }
}

pub(super) fn read(source: &dyn ByteSource) -> Result<CurveFile> {
    let mut points = Vec::new();
    let mut lines = Lines::new(source);
    while let Some(line) = lines.next()? {
        if line.starts_with(b"#") {
            continue;
        }
        let point = parse(line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line));
        points.push(point.ok_or_else(|| {
            let message = format!("line {}: expected a step and a loss", lines.number);
            Error::corrupt(source.name(), message).with_help("collect the file again, or remove the damaged line")
        })?);
        if points.len() > super::series::MAX_POINTS {
            return Err(Error::new(crate::error::ErrorKind::LimitExceeded, source.name(), "too many values"));
        }
    }
    Ok(CurveFile::new(source, CurveFormat::StepLoss, vec![Series::by_step("loss", points).into()]))
}
