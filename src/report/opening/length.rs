//! Headlines of at most 120 characters; the rest of a longer headline goes to the second line.
//!
//! A headline is cut where a clause ends, never within a name or brackets. Where no clause ends in time, long names lose
//! their middle (the line below and the findings hold them whole), and as a last resort a sentence breaks between words.

use super::words::capital;
use crate::report::escape::TextTarget;

/// Largest number of characters of a headline.
pub(super) const MOST_CHARS: usize = 120;
/// Least number of characters before a colon or a bracket at which a headline is cut; a shorter part is only the name of a place.
const LEAST_CHARS: usize = 30;
/// Least number of those characters that are not part of a name.
const LEAST_PLAIN: usize = 12;
/// Characters of a name in a headline that is too long.
const MOST_OF_NAME: usize = 44;
/// Characters among those that follow the cut.
const END_OF_NAME: usize = 28;

/// Part of a rendered text: its markup, and its visible text.
pub(super) struct TextPart {
    pub(super) written: String,
    pub(super) seen: usize,
    pub(super) is_name: bool,
}

/// Splits a headline into the first line and the rest for the second line, which is empty for most headlines.
pub(super) fn split_headline(headline: &str, target: TextTarget) -> (String, String) {
    let parts = parts(headline, target);
    if visible_chars(&parts) <= MOST_CHARS {
        return (headline.to_owned(), String::new());
    }
    if let Some(cut) = at_clause(&parts, End::Bracket) {
        return cut;
    }
    let parts: Vec<TextPart> = parts.into_iter().map(|part| shortened(part, target)).collect();
    if visible_chars(&parts) <= MOST_CHARS {
        return (written(&parts), String::new());
    }
    at_clause(&parts, End::Comma).unwrap_or_else(|| between_words(&parts))
}

/// Characters that a reader sees of a rendered text.
#[cfg(test)]
fn seen_of(text: &str, target: TextTarget) -> usize {
    visible_chars(&parts(text, target))
}

/// Characters that a reader sees of these parts.
pub(super) fn visible_chars(parts: &[TextPart]) -> usize {
    parts.iter().map(|part| part.seen).sum()
}

fn written(parts: &[TextPart]) -> String {
    parts.iter().map(|part| part.written.as_str()).collect()
}

/// Names as one part each, everything else a character at a time.
pub(super) fn parts(text: &str, target: TextTarget) -> Vec<TextPart> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = name_at(rest, target).unwrap_or(0);
        let taken = if length > 0 { length } else { entity_at(rest, target).unwrap_or(first.len_utf8()) };
        let (written, behind) = rest.split_at_checked(taken).unwrap_or((rest, ""));
        let seen = if length > 0 { inner(written, target).chars().count() } else { 1 };
        parts.push(TextPart { written: written.to_owned(), seen, is_name: length > 0 });
        rest = behind;
    }
    parts
}

/// Bytes of the name that `text` begins with; `None` where it begins with none.
fn name_at(text: &str, target: TextTarget) -> Option<usize> {
    if target == TextTarget::Html {
        return text.starts_with("<code>").then(|| text.find("</code>").map(|end| end + "</code>".len()))?;
    }
    let fence = text.len() - text.trim_start_matches('`').len();
    if fence == 0 {
        return None;
    }
    let (mark, inside) = text.split_at_checked(fence)?;
    Some(fence + inside.find(mark)? + fence)
}

fn entity_at(text: &str, target: TextTarget) -> Option<usize> {
    /// Bytes of the longest entity that names are escaped with.
    const LONGEST: usize = 8;
    let end = text.starts_with('&').then(|| text.find(';'))??;
    (target == TextTarget::Html && end < LONGEST).then_some(end + 1)
}

/// The visible part of a name.
fn inner(written: &str, target: TextTarget) -> &str {
    match target {
        TextTarget::Html => {
            written.strip_prefix("<code>").and_then(|rest| rest.strip_suffix("</code>")).unwrap_or(written)
        }
        _ => written.trim_matches('`'),
    }
}

/// A name that is not too long; entities stay whole, as only names without any are cut.
fn shortened(part: TextPart, target: TextTarget) -> TextPart {
    let name = inner(&part.written, target).to_owned();
    let count = name.chars().count();
    if !part.is_name || count <= MOST_OF_NAME || (target == TextTarget::Html && name.contains('&')) {
        return part;
    }
    let start: String = name.chars().take(MOST_OF_NAME - END_OF_NAME - 1).collect();
    let end: String = name.chars().skip(count - END_OF_NAME).collect();
    TextPart {
        written: part.written.replacen(&name, &format!("{start}…{end}"), 1), seen: MOST_OF_NAME, is_name: true
    }
}

/// The end of a clause, and how much of what stands there is left out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Comma,
    Bracket,
    Colon,
    Sentence,
}

/// Cut at the last of the strongest ends of a clause, `least` or stronger, that leaves a headline short enough; `None`
/// without any. What stands before says more than the name of a place.
fn at_clause(parts: &[TextPart], least: End) -> Option<(String, String)> {
    let (mut depth, mut before, mut plain) = (0_usize, 0_usize, 0_usize);
    let ends_in_bracket = parts.last().is_some_and(|last| matches!(last.written.as_str(), ")" | "）"));
    let mut best: Option<(End, usize, usize)> = None;
    for (index, part) in parts.iter().enumerate() {
        let next = parts.get(index + 1).map_or("", |part| part.written.as_str());
        let after = parts.get(index + 2).map_or("", |part| part.written.as_str());
        let found = match (part.written.as_str(), next) {
            (";" | ".", " ") => Some((End::Sentence, 2)),
            ("；" | "。", _) => Some((End::Sentence, 1)),
            (":", " ") => Some((End::Colon, 2)),
            ("：", _) => Some((End::Colon, 1)),
            (" ", "(") if ends_in_bracket && !after.is_empty() => Some((End::Bracket, 1)),
            (_, "（") if ends_in_bracket => Some((End::Bracket, 1)),
            (",", " ") => Some((End::Comma, 2)),
            ("，", _) => Some((End::Comma, 1)),
            _ => None,
        };
        if let Some((end, skipped)) = found.filter(|(end, _)| depth == 0 && !part.is_name && *end >= least) {
            // A full stop ends nothing else; before a bracket in Chinese stands a character that stays.
            let stays = usize::from(end == End::Bracket && part.written != " ");
            let is_long = before >= LEAST_CHARS && plain >= LEAST_PLAIN;
            let is_better = best.is_none_or(|(other, ..)| end >= other);
            if before + stays <= MOST_CHARS && is_long && is_better {
                best = Some((end, index + stays, index + skipped));
            }
        }
        depth = match part.written.as_str() {
            "(" | "（" => depth + 1,
            ")" | "）" => depth.saturating_sub(1),
            _ => depth,
        };
        before += part.seen;
        plain += if part.is_name { 0 } else { part.seen };
    }
    let (end, head, tail) = best?;
    let (head, tail) = (written(parts.get(..head)?), written(parts.get(tail..)?));
    let tail = tail.trim();
    let tail = match end {
        End::Bracket => unbracketed(tail).unwrap_or(tail),
        _ => tail,
    };
    (!tail.is_empty()).then(|| (head, if end == End::Comma { tail.to_owned() } else { capital(tail) }))
}

/// The text in brackets, where nothing stands behind them.
fn unbracketed(text: &str) -> Option<&str> {
    let inside = |open, close| text.strip_prefix(open)?.strip_suffix(close);
    let inside: &str = inside('(', ')').or_else(|| inside('（', '）'))?;
    (!inside.contains([')', '）'])).then_some(inside)
}

/// Cut before the last word, or in Chinese the last character, that leaves room for what says that more follows.
fn between_words(parts: &[TextPart]) -> (String, String) {
    let mut before = 0;
    let mut cut = 0;
    for (index, part) in parts.iter().enumerate() {
        before += part.seen;
        if before >= MOST_CHARS {
            break;
        }
        let is_end = part.written == " " || part.is_name || !part.written.is_ascii();
        cut = if is_end || cut == 0 { index } else { cut };
    }
    let (head, tail) = parts.split_at_checked(cut).unwrap_or((parts, &[]));
    (format!("{}…", written(head).trim_end()), format!("…{}", written(tail).trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_of_a_list_loses_its_middle() {
        let text = "The environments differ: `HCCL_ALGO / NCCL_ALGO`, `HCCL_INTRA_ROCE_ENABLE` and `ASCEND_RT_VISIBLE_DEVICES / CUDA_VISIBLE_DEVICES`";
        let (head, rest) = split_headline(text, TextTarget::Markdown);
        assert!(
            seen_of(&head, TextTarget::Markdown) <= MOST_CHARS && head.contains('…') && rest.is_empty(),
            "{head} {rest}"
        );
    }

    fn cut(headline: &str) -> [String; 2] {
        let (head, tail) = split_headline(headline, TextTarget::Markdown);
        assert!(seen_of(&head, TextTarget::Markdown) <= MOST_CHARS, "{head}");
        [head, tail]
    }

    #[test]
    fn a_short_headline_stays() {
        assert_eq!(cut("The loss is NaN on the NPU: see (a), b; c"), ["The loss is NaN on the NPU: see (a), b; c", ""]);
    }

    #[test]
    fn a_long_one_is_cut_where_a_clause_ends() {
        let cause =
            "`A`, `B` were replaced by 17 calls of `SoftmaxGrad`, `Mul` and many others that a reader has to look up";
        let headline = format!("Each step takes 22 % longer on the NPU: {cause}");
        assert_eq!(cut(&headline), ["Each step takes 22 % longer on the NPU", cause]);
        let long = "x".repeat(80);
        let headline = format!("The records of both runs hold other numbers (`{long}`, `{long}`)");
        let names = format!("`{long}`, `{long}`");
        assert_eq!(cut(&headline), ["The records of both runs hold other numbers", &*names]);
        let chinese = format!("{}；{}", "数".repeat(100), "值".repeat(60));
        assert_eq!(cut(&chinese), ["数".repeat(100), "值".repeat(60)]);
    }

    #[test]
    fn a_long_name_loses_its_middle_before_a_sentence_its_sense() {
        let name = format!("model.{}.weight", "layers.0.".repeat(20));
        let [head, tail] = cut(&format!("The engine holds other weights than were sent, in `{name}` alone"));
        assert!(head.ends_with("weight` alone") && head.contains('…') && tail.is_empty(), "{head} {tail}");
        let [head, tail] = cut(&"word ".repeat(60));
        assert!(head.ends_with("word…") && tail.starts_with("…word"), "{head} {tail}");
    }

    #[test]
    fn names_on_the_page_stay_whole() {
        let name = format!("<code>{}&lt;</code>", "n".repeat(100));
        let (head, tail) =
            split_headline(&format!("The runs hold other numbers in these &lt; {name} here"), TextTarget::Html);
        assert!(head.matches("<code>").count() == head.matches("</code>").count(), "{head}");
        assert!(tail.matches("<code>").count() == tail.matches("</code>").count(), "{tail}");
        assert!(seen_of(&head, TextTarget::Html) <= MOST_CHARS, "{head}");
    }
}
