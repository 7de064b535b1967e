//! The four statistics of each value, as words of 64 bits whose meaning is stored with the value's form.
//!
//! Recorders print statistics of tensors in 32 bits or fewer, so that nearly all words are numbers which an `f32` holds too. Four such
//! words are stored in 16 bytes, all others in 32.

/// Words of all values, in the order of the values.
#[derive(Clone, Debug, Default)]
pub(super) struct StatisticWords {
    /// Place of each value's words: twice their index, and one more for those of 64 bits. Empty while all have 32 bits.
    places: Vec<u32>,
    narrow: Vec<[f32; 4]>,
    wide: Vec<[u64; 4]>,
}

impl StatisticWords {
    /// Adds the words of the next value.
    pub(super) fn push(&mut self, words: [u64; 4]) {
        let numbers = narrowed(words);
        if numbers.is_none() && self.wide.is_empty() {
            self.places.extend((0..self.narrow.len()).map(place));
        }
        match numbers {
            Some(numbers) => {
                if !self.places.is_empty() {
                    self.places.push(place(self.narrow.len()));
                }
                self.narrow.push(numbers);
            }
            None => {
                self.places.push(place(self.wide.len()) + 1);
                self.wide.push(words);
            }
        }
    }

    /// Words of the value at `index`.
    pub(super) fn get(&self, index: usize) -> Option<[u64; 4]> {
        if self.places.is_empty() {
            return self.narrow.get(index).copied().map(widened);
        }
        let place = *self.places.get(index)?;
        let index = (place / 2) as usize;
        if place % 2 == 0 { self.narrow.get(index).copied().map(widened) } else { self.wide.get(index).copied() }
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.places.as_slice()) + size_of_val(self.narrow.as_slice()) + size_of_val(self.wide.as_slice())
    }

    /// Reserves memory for `values` more values like those of `part`, if possible.
    pub(super) fn reserve(&mut self, values: usize, part: &Self) {
        let is_wide = part.wide.len() > part.narrow.len();
        let _grows = self.places.try_reserve(if part.places.is_empty() { 0 } else { values });
        let _grows = if is_wide { self.wide.try_reserve(values) } else { self.narrow.try_reserve(values) };
    }

    /// Releases memory that was reserved for more values.
    pub(super) fn shrink_to_fit(&mut self) {
        self.places.shrink_to_fit();
        self.narrow.shrink_to_fit();
        self.wide.shrink_to_fit();
    }
}

/// Place of words of 32 bits by their index.
fn place(index: usize) -> u32 {
    u32::try_from(2 * index).unwrap_or(u32::MAX - 1)
}

/// The words as numbers of 32 bits; `None` where one of them is none.
#[allow(clippy::cast_possible_truncation, reason = "only what comes back unchanged is kept")]
fn narrowed(words: [u64; 4]) -> Option<[f32; 4]> {
    let numbers = words.map(|word| f64::from_bits(word) as f32);
    (widened(numbers) == words).then_some(numbers)
}

fn widened(numbers: [f32; 4]) -> [u64; 4] {
    numbers.map(|number| f64::from(number).to_bits())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_word_comes_back(
            values in proptest::collection::vec(
                prop_oneof![
                    any::<[f32; 4]>().prop_map(widened),
                    any::<[f64; 4]>().prop_map(|numbers| numbers.map(f64::to_bits)),
                    any::<[u64; 4]>(),
                    any::<[i16; 4]>().prop_map(|numbers| numbers.map(|number| i64::from(number).cast_unsigned())),
                ],
                0..50,
            )
        ) {
            let mut words = StatisticWords::default();
            values.iter().for_each(|value| words.push(*value));
            let read: Vec<[u64; 4]> = (0..).map_while(|index| words.get(index)).collect();
            prop_assert_eq!(read, values);
        }
    }
}
