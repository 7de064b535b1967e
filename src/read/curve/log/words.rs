//! A line as plain text: without terminal codes and NUL bytes, and with Chinese words and signs replaced by English ones.

use std::borrow::Cow;

use crate::read::metric;

/// Full-width signs, and the ASCII text that they stand for.
const SIGNS: [(char, &str); 13] = [
    ('：', ": "),
    ('，', ", "),
    ('、', ", "),
    ('；', "; "),
    ('。', ". "),
    ('＝', "="),
    ('｜', "|"),
    ('（', "("),
    ('）', ")"),
    ('【', "["),
    ('】', "]"),
    ('＞', ">"),
    ('％', "%"),
];

/// `line` in plain text; borrowed where it already is.
pub(super) fn plain(line: &str) -> Cow<'_, str> {
    if line.is_ascii() && memchr::memchr3(0x1b, 0, 8, line.as_bytes()).is_none() {
        return Cow::Borrowed(line);
    }
    let text = without_codes(line);
    if text.is_ascii() {
        return Cow::Owned(text);
    }
    let text = text.chars().fold(String::with_capacity(text.len()), |mut text, sign| {
        match SIGNS.iter().find(|(wide, _)| *wide == sign) {
            Some((_, narrow)) => text.push_str(narrow),
            None => text.push(sign),
        }
        text
    });
    let text = ordinals(&text);
    match metric::in_english(&text) {
        Cow::Owned(english) => Cow::Owned(english),
        Cow::Borrowed(_) => Cow::Owned(text),
    }
}

/// The line without colours, NUL and backspace.
fn without_codes(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line.chars();
    while let Some(sign) = rest.next() {
        match sign {
            '\u{1b}' => {
                // `ESC [` begins a code that ends with a letter.
                let mut code = rest.clone();
                if code.next() == Some('[') {
                    let len = code.clone().take_while(|sign| !sign.is_ascii_alphabetic() && *sign != '~').count();
                    rest = code;
                    rest.nth(len);
                }
            }
            '\0' | '\u{8}' => {}
            other => text.push(other),
        }
    }
    text
}

/// Rewrites `第 3 步` as `步 3`, so that the counter stands before its number, as everywhere else.
fn ordinals(text: &str) -> String {
    let mut ordered = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('第') {
        ordered.push_str(before);
        let trimmed = behind.trim_start();
        let digits = trimmed.len() - trimmed.trim_start_matches(|sign: char| sign.is_ascii_digit()).len();
        let (number, word) = trimmed.split_at(digits);
        let word = word.trim_start();
        // The counter is one Chinese word; `个` counts anything.
        let word = word.strip_prefix('个').unwrap_or(word).trim_start();
        let len = word.len() - word.trim_start_matches(|sign: char| !sign.is_ascii() && sign.is_alphabetic()).len();
        let (counter, after) = word.split_at(len);
        if digits == 0 || counter.is_empty() {
            ordered.push('第');
            rest = behind;
            continue;
        }
        let counter = if counter.starts_with('次') { "迭代" } else { counter };
        ordered.push(' ');
        ordered.push_str(counter);
        ordered.push(' ');
        ordered.push_str(number);
        ordered.push(' ');
        rest = after;
    }
    ordered.push_str(rest);
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_plain_text() {
        for (line, expected) in [
            ("step: 1", "step: 1"),
            ("\x1b[31mstep:  1\x1b[0m", "step:  1"),
            ("\x1b[38;2;180;60;0mgrad_norm: 1", "grad_norm: 1"),
            ("第 3 步，损失：0.53", " step 3 , loss: 0.53"),
            ("第1轮, 训练损失: 6.9", " epoch 1 , train_loss: 6.9"),
            ("loss\0\0: 2.5", "loss: 2.5"),
        ] {
            assert_eq!(plain(line), expected);
        }
    }
}
