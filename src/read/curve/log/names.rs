//! Names of values in a line: their meaning, and the data they were measured on.

use std::collections::HashMap;

use crate::kind::Role;
use crate::read::curve::beside::ContextKey;
use crate::read::curve::updates::is_scale;
use crate::read::metric;

/// Data that a value was measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Data {
    Train,
    HeldOut,
}

/// Words for training data.
const TRAIN: [&str; 2] = ["train", "training"];
/// Words in names that carry no meaning.
const FILLER: [&str; 23] = [
    "the", "of", "current", "results", "result", "value", "a", "an", "our", "and", "with", "in", "at", "on", "set",
    "was", "over", "after", "for", "by", "to", "from", "is",
];
/// The data that a single word names.
pub(super) fn data_of_word(word: &str) -> Option<Data> {
    if TRAIN.iter().any(|known| known.eq_ignore_ascii_case(word)) {
        return Some(Data::Train);
    }
    metric::is_held_out(word).then_some(Data::HeldOut)
}

/// The data that a name of several words names: the last of its words that names any counts.
fn data_in(name: &str) -> Option<Data> {
    let words = name.split(|sign: char| !sign.is_alphanumeric());
    words.filter_map(|word| data_of_word(word.trim_end_matches(|sign: char| sign.is_ascii_digit()))).next_back()
}

/// A name of values in a file.
#[derive(Clone, Debug)]
pub(super) struct Name {
    /// Name of the curve.
    pub(super) text: String,
    pub(super) role: Role,
    /// Canonical name, equal for all spellings of a metric.
    pub(super) canonical: String,
    /// Place of the first name with the same canonical name.
    pub(super) first: usize,
    /// The counter that it names, other than the step.
    pub(super) key: Option<ContextKey>,
    /// Whether it counts updates that were skipped.
    pub(super) counts_skips: bool,
    /// The data that it names.
    pub(super) data: Option<Data>,
    /// Whether all its words are fillers: `over`.
    pub(super) is_filler: bool,
    /// Whether it names only data: `val`.
    pub(super) is_data: bool,
    /// Whether it is a counter or other bookkeeping of trainers, and no measured value.
    pub(super) is_bookkeeping: bool,
    is_told: bool,
    /// Whether it names the best value so far, which repeats another value.
    pub(super) is_best: bool,
    /// Whether it is the loss scale.
    pub(super) is_scale: bool,
    /// Spelling of the first line that held it.
    raw: String,
}

impl Name {
    fn of(raw: &str, place: usize) -> Self {
        let is_filler = |word: &&str| FILLER.iter().any(|filler| filler.eq_ignore_ascii_case(word));
        let words: Vec<&str> = raw.split_ascii_whitespace().collect();
        let kept: Vec<&str> = words.iter().copied().filter(|word| !is_filler(word)).collect();
        let text = if kept.is_empty() { words.join(" ") } else { kept.join(" ") };
        let canonical = metric::canonical(&text).into_owned();
        let is_counts =
            ["number of", "total_num", "num_"].iter().any(|start| raw.to_ascii_lowercase().starts_with(start));
        Self {
            role: metric::role(&canonical),
            is_told: metric::is_key_metric(&canonical),
            key: ContextKey::from_name(&text),
            counts_skips: ["skipped_iterations", "nan_iterations"].iter().any(|counted| canonical.contains(counted)),
            first: place,
            data: data_in(&text),
            is_data: data_of_word(&text).is_some(),
            is_filler: kept.is_empty(),
            is_scale: is_scale(&text),
            raw: raw.to_owned(),
            is_bookkeeping: is_counts
                || metric::is_bookkeeping(&text)
                || matches!(canonical.as_str(), "eta" | "remaining"),
            is_best: text.split(|sign: char| !sign.is_alphanumeric()).any(|word| word.eq_ignore_ascii_case("best")),
            canonical,
            text,
        }
    }

    /// Spelling of the first line that held it.
    pub(super) fn raw(&self) -> &str {
        &self.raw
    }

    /// Whether it is a key metric of a run, such as a loss or a score, and not the best value so far.
    pub(super) fn is_key_metric(&self) -> bool {
        self.is_told && !self.is_best
    }

    /// Whether a label before it applies to it: it names no data itself, and its metric is measured on data.
    fn takes_label(&self) -> bool {
        self.data.is_none() && !matches!(self.role, Role::LearningRate | Role::GradNorm) && !self.role.is_performance()
    }
}

/// All names of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    list: Vec<Name>,
    known: HashMap<String, usize>,
    /// Places of the first names by their canonical form.
    canonical: HashMap<String, usize>,
    /// Names below a group or a label.
    below: HashMap<(Prefix, usize), usize>,
}

/// The beginning of a name, up to the longest length that is kept.
fn cut(raw: &str) -> &str {
    if raw.len() <= LONGEST {
        return raw;
    }
    let end = raw.char_indices().nth(LONGEST).map_or(raw.len(), |(end, _)| end);
    raw.get(..end).unwrap_or(raw)
}

/// Text before a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Prefix {
    /// Held-out data.
    HeldOut,
    /// The evaluation of training data.
    Evaluation,
    /// Another name.
    Group(usize),
}

/// Largest number of names of a file; all further names share the last place.
const MOST: usize = 4096;
/// Longest name.
const LONGEST: usize = 200;

impl Names {
    /// The place of a name, which is added where it is new.
    pub(super) fn place(&mut self, raw: &str) -> usize {
        let raw = cut(raw);
        if let Some(known) = self.known.get(raw) {
            return *known;
        }
        if self.list.len() >= MOST {
            return MOST - 1;
        }
        let raw = raw.to_owned();
        let place = self.list.len();
        let mut name = Name::of(&raw, place);
        name.first = *self.canonical.entry(name.canonical.clone()).or_insert(place);
        self.list.push(name);
        self.known.insert(raw, place);
        place
    }

    /// Number of names.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is no place left, so that every new name shares the last one.
    pub(super) fn is_full(&self) -> bool {
        self.list.len() >= MOST
    }

    pub(super) fn get(&self, place: usize) -> Option<&Name> {
        self.list.get(place)
    }

    /// The place of the name at `place` with a prefix before it.
    pub(super) fn place_below(&mut self, prefix: Prefix, place: usize) -> usize {
        if let Some(known) = self.below.get(&(prefix, place)) {
            return *known;
        }
        let text = |place: usize| self.list.get(place).map(|name| name.text.clone()).unwrap_or_default();
        let name = text(place);
        let whole = match prefix {
            Prefix::HeldOut => format!("val/{name}"),
            Prefix::Evaluation => format!("eval/{}", name.replace(' ', "_")),
            // `loss[loss=..` is the loss itself.
            Prefix::Group(group) if text(group) == name => name,
            Prefix::Group(group) => {
                let group = text(group);
                format!("{}/{name}", group.trim_end_matches('/'))
            }
        };
        let known = self.place(&whole);
        self.below.insert((prefix, place), known);
        known
    }

    /// The place of the name at `place` under a label that names its data.
    pub(super) fn place_with_label(&mut self, label: Option<Data>, place: usize) -> usize {
        let takes = label == Some(Data::HeldOut) && self.get(place).is_some_and(Name::takes_label);
        if takes { self.place_below(Prefix::HeldOut, place) } else { place }
    }

    /// The place of a name that only names data, completed by the metric of the name before it: `loss train: 2.1, val: 2.3`.
    pub(super) fn place_after(&mut self, place: usize, before: Option<usize>) -> usize {
        let Some(name) = self.get(place).filter(|name| name.is_data) else { return place };
        let Some(before) =
            before.and_then(|before| self.get(before)).filter(|name| name.data.is_some() && !name.is_data)
        else {
            return place;
        };
        let words: Vec<&str> = before
            .text
            .split(' ')
            .map(|word| if data_of_word(word).is_some() { name.text.as_str() } else { word })
            .collect();
        let whole = words.join(" ");
        self.place(&whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_and_of_which_data() {
        for (raw, text, data, role) in [
            ("lm loss", "lm loss", None, Role::Loss),
            ("Current learning rate", "learning rate", None, Role::LearningRate),
            ("Pseudo dice", "Pseudo dice", None, Role::EvalScore),
            ("loss train", "loss train", Some(Data::Train), Role::Loss),
            ("validation loss was", "validation loss", Some(Data::HeldOut), Role::EvalLoss),
            ("valid WER", "valid WER", Some(Data::HeldOut), Role::EvalScore),
        ] {
            let name = Name::of(raw, 0);
            assert_eq!((name.text.as_str(), name.data, name.role), (text, data, role), "{raw}");
        }
        let mut names = Names::default();
        let train = names.place("loss train");
        let val = names.place("val");
        let joined = names.place_after(val, Some(train));
        assert_eq!(names.get(joined).expect("known").text, "loss val");
        let loss = names.place("Average loss");
        let held_out = names.place_with_label(Some(Data::HeldOut), loss);
        assert_eq!(names.get(held_out).expect("known").text, "val/Average loss");
    }
}
