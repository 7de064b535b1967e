//! Names of values in a line: what they are, and of which data.

use std::collections::HashMap;

use crate::kind::Role;
use crate::read::curve::beside::Key;
use crate::read::curve::updates::is_scale;
use crate::read::metric;

/// Data that a value is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Data {
    Train,
    HeldOut,
}

/// Words of the data that a run trains on.
const TRAIN: [&str; 2] = ["train", "training"];
/// Words that say nothing of what a value is.
const FILLER: [&str; 23] = [
    "the", "of", "current", "results", "result", "value", "a", "an", "our", "and", "with", "in", "at", "on", "set",
    "was", "over", "after", "for", "by", "to", "from", "is",
];
/// The data that a single word names.
pub(super) fn data_of(word: &str) -> Option<Data> {
    if TRAIN.iter().any(|known| known.eq_ignore_ascii_case(word)) {
        return Some(Data::Train);
    }
    metric::is_held_out(word).then_some(Data::HeldOut)
}

/// The data that a name of words says it is of: the last of its words that names one.
fn data_in(name: &str) -> Option<Data> {
    let words = name.split(|sign: char| !sign.is_alphanumeric());
    words.filter_map(|word| data_of(word.trim_end_matches(|sign: char| sign.is_ascii_digit()))).next_back()
}

/// A name.
#[derive(Clone, Debug)]
pub(super) struct Name {
    /// As the curve is called.
    pub(super) text: String,
    pub(super) role: Role,
    /// The same for all spellings of a metric.
    pub(super) canonical: String,
    /// Place of the first name with that spelling.
    pub(super) first: usize,
    /// The counter beside the steps that it is.
    pub(super) key: Option<Key>,
    /// Whether it counts updates that were skipped.
    pub(super) counts_skips: bool,
    /// The data that it names.
    pub(super) data: Option<Data>,
    /// Whether its words say nothing of what a value is: `over`.
    pub(super) is_filler: bool,
    /// Whether it names data alone: `val`.
    pub(super) is_data: bool,
    /// Whether it counts, or is kept by trainers beside what they measure.
    pub(super) is_bookkeeping: bool,
    is_told: bool,
    /// Whether a best value so far is meant, which repeats another.
    pub(super) is_best: bool,
    /// Whether it is the loss scale.
    pub(super) is_scale: bool,
    /// As the first line that held it wrote it.
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
            is_told: metric::is_told(&canonical),
            key: Key::of(&text),
            counts_skips: ["skipped_iterations", "nan_iterations"].iter().any(|counted| canonical.contains(counted)),
            first: place,
            data: data_in(&text),
            is_data: data_of(&text).is_some(),
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

    /// As the first line that held it wrote it.
    pub(super) fn raw(&self) -> &str {
        &self.raw
    }

    /// Whether a run is about such a value.
    pub(super) fn is_told(&self) -> bool {
        self.is_told && !self.is_best
    }

    /// Whether a label in front of it says which data it is of.
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

/// The part of a name that is kept.
fn cut(raw: &str) -> &str {
    if raw.len() <= LONGEST {
        return raw;
    }
    let end = raw.char_indices().nth(LONGEST).map_or(raw.len(), |(end, _)| end);
    raw.get(..end).unwrap_or(raw)
}

/// Text in front of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Prefix {
    /// Held-out data.
    HeldOut,
    /// The evaluation of training data.
    Evaluation,
    /// Another name.
    Group(usize),
}

/// Names of a file that are kept; what comes behind them is one name.
const MOST: usize = 4096;
/// Longest name.
const LONGEST: usize = 200;

impl Names {
    /// The place of a name.
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

    /// Whether there is no place for another name, so that what is new has that of another.
    pub(super) fn is_full(&self) -> bool {
        self.list.len() >= MOST
    }

    /// The name at a place.
    pub(super) fn get(&self, place: usize) -> Option<&Name> {
        self.list.get(place)
    }

    /// The place of a name below a prefix.
    pub(super) fn below(&mut self, prefix: Prefix, place: usize) -> usize {
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

    /// The name at a place as a label says which data it is of.
    pub(super) fn labelled(&mut self, label: Option<Data>, place: usize) -> usize {
        let takes = label == Some(Data::HeldOut) && self.get(place).is_some_and(Name::takes_label);
        if takes { self.below(Prefix::HeldOut, place) } else { place }
    }

    /// A name of data alone as the name before it says what was measured: `loss train: 2.1, val: 2.3`.
    pub(super) fn after(&mut self, place: usize, before: Option<usize>) -> usize {
        let Some(name) = self.get(place).filter(|name| name.is_data) else { return place };
        let Some(before) =
            before.and_then(|before| self.get(before)).filter(|name| name.data.is_some() && !name.is_data)
        else {
            return place;
        };
        let words: Vec<&str> = before
            .text
            .split(' ')
            .map(|word| if data_of(word).is_some() { name.text.as_str() } else { word })
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
        let joined = names.after(val, Some(train));
        assert_eq!(names.get(joined).expect("known").text, "loss val");
        let loss = names.place("Average loss");
        let held_out = names.labelled(Some(Data::HeldOut), loss);
        assert_eq!(names.get(held_out).expect("known").text, "val/Average loss");
    }
}
