//! The place of an error within its tensor, in words.

use minijinja::{Value, context};

use super::writer::{Writer, safe};
use crate::error::Result;
use crate::result::unit::{ErrorAxis, ErrorLocation, ErrorPattern};

/// Largest number of indices that are written out one by one.
const LISTED: usize = 4;

/// The sentence about where the error lies.
///
/// # Errors
/// Where a phrase does not render.
pub fn sentence(location: &ErrorLocation, writer: &Writer) -> Result<String> {
    let axes = location.axes.iter().map(|axis| of_axis(location, axis, writer)).collect::<Result<Vec<_>>>()?;
    let share = location.axes.iter().map(|axis| axis.share.0).fold(1.0, f64::min);
    let rolled = location.axes.first().filter(|axis| axis.rolled.is_some());
    let key = match location.pattern {
        ErrorPattern::Moved if rolled.is_some() => "error_place_rolled",
        ErrorPattern::Moved => "error_place_moved",
        ErrorPattern::Scaled => "error_place_scaled",
        ErrorPattern::Block => "error_place_block",
        ErrorPattern::Concentrated => "error_place_concentrated",
        ErrorPattern::Spread => "error_place_spread",
    };
    let facts = context! {
        axes => safe(axes.join(&writer.word("comma")?)),
        wrong => location.wrong,
        elements => location.elements,
        factor => location.factor.map(|factor| factor.0),
        share,
        by => rolled.and_then(|axis| axis.rolled),
        axis => rolled.map(|axis| axis.axis),
        len => rolled.map(|axis| axis.len),
        name => rolled.map(|axis| axis_name(location, axis.axis, writer)).transpose()?.map(safe),
    };
    writer.phrase(key, &facts)
}

/// The word for an axis; empty if its meaning is unknown or the result spells it differently than this version.
///
/// # Errors
/// Where a phrase does not render.
pub(crate) fn axis_name(location: &ErrorLocation, axis: u64, writer: &Writer) -> Result<String> {
    const KNOWN: [&str; 6] = ["batch", "head", "token", "channel", "row", "column"];
    let name = usize::try_from(axis).ok().and_then(|axis| location.names.get(axis));
    match name.filter(|name| KNOWN.contains(&name.as_str())) {
        Some(name) => writer.word(&format!("axis_{name}")),
        None => Ok(String::new()),
    }
}

fn of_axis(location: &ErrorLocation, axis: &ErrorAxis, writer: &Writer) -> Result<String> {
    let name = axis_name(location, axis.axis, writer)?;
    let name = if name.is_empty() { writer.word("axis_index")? } else { name };
    let facts = context! {
        name => safe(name),
        indices => safe(indices(axis, writer)?),
        len => axis.len,
        axis => axis.axis,
    };
    writer.phrase(if axis.count == axis.len { "error_axis_all" } else { "error_axis" }, &facts)
}

fn indices(axis: &ErrorAxis, writer: &Writer) -> Result<String> {
    let last = axis.runs.last().map_or(0, |(_, last)| *last);
    if axis.count == 1 && axis.len > 1 && last == axis.len - 1 {
        return writer.phrase("error_indices_last", &context! { index => last });
    }
    // A result may come from an untrusted run, so the sums saturate.
    let listed = axis.runs.iter().map(|(first, last)| last.saturating_sub(*first).saturating_add(1));
    let more = axis.runs.len() > LISTED || listed.fold(0, u64::saturating_add) < axis.count;
    let runs: Vec<String> = axis.runs.iter().take(LISTED).map(|(first, last)| run(*first, *last)).collect();
    let list = runs.join(", ");
    match (axis.every, more) {
        (0, false) => Ok(list),
        (0, true) => Ok(format!("{list}, …")),
        (every, _) => {
            writer.phrase("error_indices_every", &context! { list => safe(list), every, count => axis.count })
        }
    }
}

fn run(first: u64, last: u64) -> String {
    if first == last { first.to_string() } else { format!("{first}–{last}") }
}

/// The sentence as a template value; empty if the place is not known.
///
/// # Errors
/// Where a phrase does not render.
pub(crate) fn sentence_value(location: Option<&ErrorLocation>, writer: &Writer) -> Result<Value> {
    location.map_or_else(|| Ok(Value::from("")), |location| sentence(location, writer).map(safe))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::escape::TextTarget;
    use crate::report::messages::Language;
    use crate::result::number::Number;
    use crate::result::unit::ErrorMap;

    #[test]
    fn numbers_of_a_stranger_make_a_sentence_too() {
        let axis = |runs: Vec<(u64, u64)>, len, count| ErrorAxis {
            axis: u64::MAX,
            len,
            count,
            runs,
            every: 0,
            rolled: None,
            share: Number(f64::NAN),
        };
        let axes = vec![
            axis(vec![(9, 3), (0, u64::MAX), (0, u64::MAX)], 0, u64::MAX),
            axis(vec![(u64::MAX, u64::MAX)], u64::MAX, 1),
            axis(Vec::new(), 0, 1),
        ];
        let location = ErrorLocation {
            shape: Vec::new(),
            names: Vec::new(),
            wrong: u64::MAX,
            elements: 0,
            pattern: ErrorPattern::Block,
            factor: None,
            axes,
            map: ErrorMap::default(),
        };
        for language in Language::ALL {
            assert!(!sentence(&location, &Writer::new(language, TextTarget::Plain)).expect("a sentence").is_empty());
        }
    }
}
