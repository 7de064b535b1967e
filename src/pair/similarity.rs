//! Similarity of two texts: Python's `difflib.SequenceMatcher(None, a, b).ratio()`, digit for digit.
//!
//! Ratcliff and Obershelp's gestalt matching: the longest common block, then the same left and right of it; the
//! ratio is twice the matched length over the sum of both lengths. It is not symmetric: ties go to the earliest
//! block in `a`, then in `b`, and in a `b` of 200 or more characters those that occur more than 1 + n/100 times
//! start no block ("automatic junk").

use std::collections::HashMap;

/// Length of `b` from which frequent characters are ignored as starting points.
const AUTOJUNK_FROM: usize = 200;

/// A text that others are compared with.
pub(crate) struct PreparedText {
    characters: Vec<char>,
    positions: HashMap<char, Vec<usize>>,
}

impl PreparedText {
    /// Prepares `text` as the second sequence.
    pub(crate) fn new(text: &str) -> Self {
        let characters: Vec<char> = text.chars().collect();
        let mut positions: HashMap<char, Vec<usize>> = HashMap::new();
        for (position, character) in characters.iter().enumerate() {
            positions.entry(*character).or_default().push(position);
        }
        if characters.len() >= AUTOJUNK_FROM {
            let most = characters.len() / 100 + 1;
            positions.retain(|_, places| places.len() <= most);
        }
        Self { characters, positions }
    }

    /// The ratio with `a` as the first sequence: 0 where nothing matches, 1 where all does (or both are empty).
    pub(crate) fn ratio(&self, a: &str) -> f64 {
        let a: Vec<char> = a.chars().collect();
        let total = a.len() + self.characters.len();
        if total == 0 {
            return 1.0;
        }
        #[allow(clippy::cast_precision_loss, reason = "lengths of texts in memory lie far below 2^53")]
        let ratio = 2.0 * self.matched(&a) as f64 / total as f64;
        ratio
    }

    /// Characters in matching blocks.
    fn matched(&self, a: &[char]) -> usize {
        let mut open = vec![Window { a: (0, a.len()), b: (0, self.characters.len()) }];
        let mut matched = 0;
        while let Some(window) = open.pop() {
            let block = self.longest(a, &window);
            if block.len == 0 {
                continue;
            }
            matched += block.len;
            open.push(Window { a: (window.a.0, block.a), b: (window.b.0, block.b) });
            open.push(Window { a: (block.a + block.len, window.a.1), b: (block.b + block.len, window.b.1) });
        }
        matched
    }

    /// The longest block in the window; of equals, the one that starts first in `a`, then in `b`.
    fn longest(&self, a: &[char], window: &Window) -> Block {
        let mut best = Block { a: window.a.0, b: window.b.0, len: 0 };
        // Length of the block that ends at each position of `b`, for the previous character of `a`.
        let mut ending: HashMap<usize, usize> = HashMap::new();
        for (i, character) in a.iter().enumerate().take(window.a.1).skip(window.a.0) {
            let mut next = HashMap::new();
            for &j in self.positions.get(character).map_or(&[][..], Vec::as_slice) {
                if j < window.b.0 {
                    continue;
                }
                if j >= window.b.1 {
                    break;
                }
                let len = 1 + j.checked_sub(1).and_then(|before| ending.get(&before)).copied().unwrap_or(0);
                next.insert(j, len);
                if len > best.len {
                    best = Block { a: i + 1 - len, b: j + 1 - len, len };
                }
            }
            ending = next;
        }
        self.extended(a, window, best)
    }

    /// Grows a block over equal neighbours that start no block themselves.
    fn extended(&self, a: &[char], window: &Window, mut block: Block) -> Block {
        let same = |i: usize, j: usize| a.get(i).is_some_and(|character| self.characters.get(j) == Some(character));
        while block.a > window.a.0 && block.b > window.b.0 && same(block.a - 1, block.b - 1) {
            block = Block { a: block.a - 1, b: block.b - 1, len: block.len + 1 };
        }
        while block.a + block.len < window.a.1
            && block.b + block.len < window.b.1
            && same(block.a + block.len, block.b + block.len)
        {
            block.len += 1;
        }
        block
    }
}

/// Half-open ranges of both sequences.
struct Window {
    a: (usize, usize),
    b: (usize, usize),
}

/// An equal stretch.
#[derive(Clone, Copy)]
struct Block {
    a: usize,
    b: usize,
    len: usize,
}

/// `SequenceMatcher(None, a, b).ratio()`.
pub fn ratio(a: &str, b: &str) -> f64 {
    PreparedText::new(b).ratio(a)
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "the expected digits are Python's own")]
mod tests {
    use super::ratio;

    /// Expected values were printed by CPython 3.11.
    #[test]
    fn ratios_are_those_of_difflib() {
        for (a, b, expected) in RATIOS {
            assert_eq!(ratio(a, b), expected, "{a:?} {b:?}");
        }
        let long = "ab".repeat(150);
        assert_eq!(ratio(&long, &long), LONG.0);
        assert_eq!(ratio("abab-q", &format!("{long}-q")), LONG.1);
        assert_eq!(ratio(&format!("{long}-q"), "abab-q"), LONG.2);
    }

    const RATIOS: [(&str, &str, f64); 10] = [
        ("", "", 1.0),
        ("", "a", 0.0),
        ("micro_batch_size", "micro_batchsize", 0.967741935483871),
        ("micro_batchsize", "micro_batch_size", 0.967741935483871),
        ("tide", "diet", 0.25),
        ("diet", "tide", 0.5),
        ("noise = torch.randn(32, 8)", "a = torch.rand(2)", 0.7441860465116279),
        ("学习率衰减", "学习衰减率", 0.8),
        ("abcabba", "cbabac", 0.46153846153846156),
        ("np.random.choice([1, 2, 3])", "_ = draw(POOL)", 0.1951219512195122),
    ];
    const LONG: (f64, f64, f64) = (1.0, 0.03896103896103896, 0.03896103896103896);
}
