//! Words from code and names: expressions that stand for an operation, names without directions, capital letters.

use crate::report::sides::is_chinese;

/// Operators of two operands, as people space them.
const OPERATORS: [&str; 10] = [" + ", " - ", " * ", " / ", " @ ", " ** ", " // ", " % ", " & ", " | "];
/// Longest expression of source code that stands for an operation in a sentence.
const MOST_CODE: usize = 40;

/// An operation's name without its direction: `Functional.linear.0`.
pub(super) fn without_direction(op: &str) -> &str {
    [".forward", ".backward", "_forward", "_backward"].iter().find_map(|end| op.strip_suffix(end)).unwrap_or(op)
}

/// An operation's name in a headline: the path of a module in place of its record
/// (`decoder.layers.0.mlp` of `Module.decoder.layers.0.mlp.MLP.forward.0`), any other without its direction.
pub(super) fn short_name(op: &str) -> &str {
    module_path(op).unwrap_or_else(|| without_direction(op))
}

fn module_path(op: &str) -> Option<&str> {
    let record = ["Module.", "Cell."].iter().find_map(|prefix| op.strip_prefix(prefix))?;
    let call = [".forward.", ".backward.", ".parameters_grad."].iter().find_map(|end| record.rfind(end))?;
    let (path, _class) = record.get(..call)?.rsplit_once('.')?;
    Some(path)
}

/// A sentence with a capital letter at its start; one that begins with a name stays.
pub(super) fn capital(text: &str) -> String {
    // A Chinese sentence begins with a name as it is written.
    if text.contains(is_chinese) {
        return text.to_owned();
    }
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A sentence for the middle of another: a word at its start loses its capital letter; an abbreviation and one of `names`
/// do not.
pub(super) fn uncapital(text: &str, names: &[String]) -> String {
    if names.iter().any(|name| !name.is_empty() && text.starts_with(name.as_str())) {
        return text.to_owned();
    }
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() || second == ' ' => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}

/// Tensor and index of a plain index: `h` and `order` of `h[order]`.
pub(super) fn tensor_and_index(code: &str) -> Option<(&str, &str)> {
    let (tensor, index) = code.strip_suffix(']')?.split_once('[')?;
    let is_name = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    (is_name(tensor) && is_name(index) && !index.starts_with(|c: char| c.is_ascii_digit())).then_some((tensor, index))
}

/// The part of a line of code that stands for its one call: `h[order]` of `h = h[order]`. `None` where the line is long or
/// cut, or makes several calls, of which a reader cannot tell which is meant.
pub(super) fn expression(line: &str) -> Option<String> {
    let code = line.trim().trim_start_matches("return ").trim();
    let code = match code.split_once(" = ") {
        Some((target, value)) if !target.contains(['(', '=']) => value.trim(),
        _ => code,
    };
    let count = |bracket: char| code.matches(bracket).count();
    let is_whole = count('(') == count(')') && count('[') == count(']') && !code.ends_with([',', '\\']);
    let calls = count('(') + count('[');
    let operators = OPERATORS.iter().map(|operator| code.matches(operator).count()).sum::<usize>();
    // A backward call recorded without its forward one has the line that starts the whole backward pass.
    let is_one = calls + operators <= 1 && !code.contains(".backward(");
    (is_whole && is_one && !code.is_empty() && code.chars().count() <= MOST_CODE).then(|| code.to_owned())
}

/// A line of code, cut where it is long, with the keyword `argument` in what is left; empty for none.
pub(super) fn cut_line(line: &str, argument: &str) -> String {
    /// Most characters of a line that are shown, and those behind the name of an argument.
    const MOST: usize = 80;
    const VALUE: usize = 24;
    let line = line.trim();
    let count = line.chars().count();
    if count <= MOST {
        return line.to_owned();
    }
    let keyword = format!("{argument}=");
    let found = line.find(&keyword).and_then(|at| line.get(..at)).filter(|_| !argument.is_empty());
    let end = found.map_or(0, |before| before.chars().count() + keyword.chars().count() + VALUE).clamp(MOST, count);
    // A name is not cut at the start where it is short.
    let is_of_name = |sign: &char| sign.is_alphanumeric() || matches!(sign, '_' | '.');
    let name =
        line.chars().take(end - MOST).collect::<Vec<_>>().iter().rev().take_while(|sign| is_of_name(sign)).count();
    let start = end - MOST - if name <= VALUE { name } else { 0 };
    let cut = |is_cut: bool| if is_cut { "…" } else { "" };
    let shown: String = line.chars().skip(start).take(end - start).collect();
    format!("{}{shown}{}", cut(start > 0), cut(end < count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_one_call_stands_for_the_call() {
        for (line, found) in [
            ("h = h[order]", Some("h[order]")),
            ("return F.softmax(s, dim=-1)", Some("F.softmax(s, dim=-1)")),
            ("g = g * 2.0", Some("g * 2.0")),
            ("x = self.drop(self.fc(x))", None),
            ("x = x + b(x)", None),
            ("y = torch.matmul(", None),
            ("out = torch.addmm(bias, first_operand, second_operand, beta=1)", None),
            ("loss.backward()", None),
            ("", None),
        ] {
            assert_eq!(expression(line).as_deref(), found, "{line}");
        }
    }

    #[test]
    fn a_long_line_is_cut_around_the_argument_that_differs() {
        let line = format!(
            "y = torch.stft({}, pad_mode=mode if fits else other, normalized=False, onesided=True)",
            "w".repeat(90)
        );
        assert_eq!(cut_line("y = f(x, p=0.1)", "p"), "y = f(x, p=0.1)");
        assert!(cut_line(&line, "").starts_with("y = torch.stft(w") && cut_line(&line, "").ends_with('…'));
        let shown = cut_line(&line, "pad_mode");
        assert!(shown.contains("pad_mode=mode if fits") && shown.starts_with('…') && shown.ends_with('…'), "{shown}");
        assert_eq!(shown.chars().count(), 82);
    }

    #[test]
    fn a_module_is_named_by_its_path() {
        for (op, name) in [
            ("Module.decoder.layers.0.mlp.MLP.forward.0", "decoder.layers.0.mlp"),
            ("Module.head.Linear.parameters_grad.0", "head"),
            ("Module.Linear.forward.0", "Module.Linear.forward.0"),
            ("Functional.linear.7.forward", "Functional.linear.7"),
        ] {
            assert_eq!(short_name(op), name);
        }
    }

    #[test]
    fn a_sentence_within_another_keeps_names() {
        let names = ["Functional.linear.0".to_owned(), String::new()];
        for (text, within) in [
            ("The loss is NaN", "the loss is NaN"),
            ("NPU stops", "NPU stops"),
            ("Functional.linear.0 is wrong", "Functional.linear.0 is wrong"),
            ("`Linear` is wrong", "`Linear` is wrong"),
        ] {
            assert_eq!(uncapital(text, &names), within);
        }
    }

    #[test]
    fn an_index_by_a_tensor_is_taken_apart() {
        for (code, found) in
            [("h[order]", Some(("h", "order"))), ("h[0]", None), ("h[a, b]", None), ("f(x)[order]", None), ("h", None)]
        {
            assert_eq!(tensor_and_index(code), found, "{code}");
        }
    }
}
