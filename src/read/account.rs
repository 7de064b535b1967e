//! Numbers beside a metric's name that a reader found and did not read, grouped by the shape of the text that holds them.

use std::collections::HashMap;

/// Largest number of shapes that are kept; numbers of further shapes are only counted.
const SHAPES: usize = 256;
/// Largest number of numbers that are kept, over all shapes.
const NUMBERS: usize = 100_000;
/// Longest shape or example, in characters.
const WIDTH: usize = 200;

/// Numbers of one shape that were not read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnreadShape {
    /// Text that held them, with `#` in place of each number and one blank in place of several; the path of a key.
    pub shape: String,
    /// Number of texts with this shape.
    pub count: u64,
    /// The first such text, cut to 200 characters.
    pub example: String,
    /// Names of the metrics in it.
    pub names: Vec<String>,
    /// The numbers of all such texts, one list for each position in the shape.
    pub columns: Vec<Vec<f64>>,
}

impl UnreadShape {
    /// Number of numbers in all texts with this shape.
    pub fn number_count(&self) -> u64 {
        self.count * self.columns.len() as u64
    }
}

/// All numbers of a file that were not read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnreadNumbers {
    shapes: Vec<UnreadShape>,
    known: HashMap<String, usize>,
    numbers: usize,
    /// Number of numbers whose shape is not kept.
    beyond: u64,
}

impl UnreadNumbers {
    /// Adds the numbers of a text.
    pub(crate) fn add_text(&mut self, text: &str, names: Vec<String>, values: &[f64]) {
        let shape = shape_of(text);
        let place = match self.known.get(&shape) {
            Some(place) => *place,
            None if self.shapes.len() >= SHAPES => {
                self.beyond += values.len() as u64;
                return;
            }
            None => {
                let example = text.chars().take(WIDTH).collect();
                let unread = UnreadShape { shape: shape.clone(), example, names, ..UnreadShape::default() };
                self.shapes.push(unread);
                self.known.insert(shape, self.shapes.len() - 1);
                self.shapes.len() - 1
            }
        };
        let Some(unread) = self.shapes.get_mut(place) else { return };
        unread.count += 1;
        unread.columns.resize_with(unread.columns.len().max(values.len()), Vec::new);
        for (column, value) in unread.columns.iter_mut().zip(values) {
            if self.numbers < NUMBERS {
                self.numbers += 1;
                column.push(*value);
            }
        }
    }

    /// Adds the numbers of `other` after its own.
    pub(crate) fn add(&mut self, other: &Self) {
        self.beyond += other.beyond;
        for unread in &other.shapes {
            let place = match self.known.get(&unread.shape) {
                Some(place) => *place,
                None if self.shapes.len() >= SHAPES => {
                    self.beyond += unread.number_count();
                    continue;
                }
                None => {
                    self.shapes.push(UnreadShape { count: 0, columns: Vec::new(), ..unread.clone() });
                    self.known.insert(unread.shape.clone(), self.shapes.len() - 1);
                    self.shapes.len() - 1
                }
            };
            let Some(known) = self.shapes.get_mut(place) else { continue };
            known.count += unread.count;
            known.columns.resize_with(known.columns.len().max(unread.columns.len()), Vec::new);
            for (column, more) in known.columns.iter_mut().zip(&unread.columns) {
                let room = NUMBERS.saturating_sub(self.numbers).min(more.len());
                self.numbers += room;
                column.extend(more.iter().take(room));
            }
        }
    }

    /// The shapes, in the order of their first text.
    pub fn shapes(&self) -> &[UnreadShape] {
        &self.shapes
    }

    /// Number of numbers whose shape is not kept.
    pub fn dropped_count(&self) -> u64 {
        self.beyond
    }
}

/// The numbers of a text, including `nan` and `inf`.
pub(crate) fn numbers_in_text(text: &str) -> Vec<f64> {
    let is_part = |sign: char| sign.is_alphanumeric() || matches!(sign, '.' | '+' | '-');
    let parts = text.split(|sign: char| !is_part(sign)).filter(|part| !part.is_empty());
    parts.filter_map(|part| part.trim_end_matches(['.', '-']).parse().ok()).collect()
}

/// A text with `#` in place of each number and one blank in place of several.
fn shape_of(text: &str) -> String {
    let mut shape = String::with_capacity(WIDTH);
    let mut rest = text.chars().peekable();
    let mut before = ' ';
    while let Some(sign) = rest.next() {
        if shape.len() >= WIDTH {
            break;
        }
        if sign.is_ascii_digit() {
            while rest
                .next_if(|next| next.is_ascii_digit() || matches!(next, '.' | ',' | ':' | 'e' | 'E' | '-' | '+'))
                .is_some()
            {}
            before = '#';
        } else if sign.is_whitespace() {
            before = if before == ' ' { continue } else { ' ' };
        } else if sign.is_alphabetic() && !before.is_alphanumeric() {
            let mut word = String::from(sign);
            while let Some(next) = rest.next_if(|next| next.is_alphanumeric() || *next == '_') {
                word.push(next);
            }
            let is_number = matches!(word.to_ascii_lowercase().as_str(), "nan" | "inf" | "infinity");
            let word = if is_number { "#".to_owned() } else { without_digits(&word) };
            before = word.chars().next_back().unwrap_or(' ');
            if is_number && shape.ends_with(['-', '+']) {
                shape.pop();
            }
            shape.push_str(&word);
            continue;
        } else {
            before = sign;
        }
        // A sign before a number is part of it.
        if before == '#' && shape.ends_with(['-', '+']) {
            shape.pop();
        }
        shape.push(before);
    }
    shape.trim().to_owned()
}

fn without_digits(word: &str) -> String {
    let mut text = String::new();
    for sign in word.chars() {
        match sign {
            digit if digit.is_ascii_digit() => {
                if !text.ends_with('#') {
                    text.push('#');
                }
            }
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_make_have_one_shape() {
        for (text, shape) in [
            ("<eval><it>2</it><loss>6.94</loss></eval>", "<eval><it>#</it><loss>#</loss></eval>"),
            ("mIoU per class // 0.22 //  nan // -1e-5", "mIoU per class // # // # // #"),
            ("2026-05-01 10:11:12 mAP50 -0.5", "# # mAP# #"),
        ] {
            assert_eq!(shape_of(text), shape);
        }
    }

    #[test]
    fn an_account_takes_another_behind_its_own() {
        let mut account = UnreadNumbers::default();
        account.add_text("dice ~ 0.5", vec!["dice".into()], &[0.5]);
        let mut other = UnreadNumbers::default();
        (0..2 * SHAPES).for_each(|nth| other.add_text(&format!("{} dice", "x".repeat(nth)), Vec::new(), &[1.0]));
        other.add_text("dice ~ 0.7", vec!["dice".into()], &[0.7]);
        account.add(&other);
        assert_eq!(account.shapes().len(), SHAPES);
        assert_eq!(
            account.dropped_count(),
            other.dropped_count() + 1,
            "of the shapes that the other kept one found no place"
        );
        let mut two = UnreadNumbers::default();
        two.add_text("dice ~ 0.7", vec!["dice".into()], &[0.7]);
        account.add(&two);
        assert_eq!((account.shapes()[0].count, account.shapes()[0].columns.clone()), (2, vec![vec![0.5, 0.7]]));
    }

    #[test]
    fn numbers_are_kept_by_their_place_and_counted_beyond_the_limit() {
        let mut account = UnreadNumbers::default();
        for at in 0..300 {
            account.add_text(&format!("{} dice ~ 0.5", "x".repeat(at + 1)), vec!["dice".into()], &[0.5, 1.0]);
        }
        account.add_text("x dice ~ 0.7", vec!["dice".into()], &[0.7, 2.0]);
        let (shapes, beyond) = (account.shapes(), account.dropped_count());
        assert_eq!((shapes.len(), beyond), (SHAPES, 2 * (300 - SHAPES as u64)));
        assert_eq!((shapes[0].count, shapes[0].columns.clone()), (2, vec![vec![0.5, 0.7], vec![1.0, 2.0]]));
    }
}
