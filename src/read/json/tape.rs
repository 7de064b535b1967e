//! A JSON value in memory that is reused for the next value, because there are hundreds of thousands of records.

use super::parser::Parser;
use super::value::Json;
use crate::error::Result;
use crate::hash::{ByHash, hash_of};

/// One value of any kind, whose parts share two buffers instead of having their own memory.
#[derive(Debug, Default)]
pub struct Tape {
    nodes: Vec<Node>,
    /// Texts one after the other.
    texts: String,
    /// The first keys of each object that is being read, those of the innermost last.
    keys: Vec<Key>,
    /// Number of repeated keys of objects.
    repeated: u64,
}

/// One part of a value, in the order of the document.
#[derive(Clone, Debug)]
enum Node {
    /// A scalar other than a text.
    Scalar(Json),
    /// A text, as a range of `Tape::texts`.
    Text(Span),
    /// An array, with the index after its last item.
    Array(usize),
    /// An object, with the index after its last entry.
    Object(usize),
    /// A key, and the index of its value; of the last value if the key is repeated.
    Key { text: Span, value: usize },
    /// A repeated key of an object.
    Repeated,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Span {
    start: usize,
    end: usize,
}

impl Tape {
    /// Reads the value at the parser's position and replaces the previous content.
    ///
    /// # Errors
    /// Those of [`Parser::value`].
    pub fn read(&mut self, parser: &mut Parser<'_>) -> Result<()> {
        self.nodes.clear();
        self.texts.clear();
        self.keys.clear();
        self.repeated = 0;
        self.value(parser)
    }

    /// The whole value.
    pub fn root(&self) -> Item<'_> {
        Item { tape: self, index: 0 }
    }

    /// Whether an object has a key more than once.
    pub(crate) fn has_repeated_keys(&self) -> bool {
        self.repeated > 0
    }

    fn value(&mut self, parser: &mut Parser<'_>) -> Result<()> {
        parser.check_memory(self.nodes.len() * size_of::<Node>() + self.texts.len())?;
        match parser.peek()? {
            Some(b'{') => self.object(parser),
            Some(b'[') => self.array(parser),
            Some(b'"') => {
                let text = self.text(parser)?;
                self.nodes.push(Node::Text(text));
                Ok(())
            }
            Some(_) => {
                self.nodes.push(Node::Scalar(parser.scalar()?));
                Ok(())
            }
            None => Err(parser.unexpected("a value")),
        }
    }

    fn array(&mut self, parser: &mut Parser<'_>) -> Result<()> {
        let start = self.nodes.len();
        self.nodes.push(Node::Array(0));
        parser.array(|parser| self.value(parser))?;
        self.close(start, Node::Array(self.nodes.len()));
        Ok(())
    }

    fn object(&mut self, parser: &mut Parser<'_>) -> Result<()> {
        let start = self.nodes.len();
        self.nodes.push(Node::Object(0));
        parser.open(b'{')?;
        let mut keys = Keys { first: self.keys.len(), many: None };
        if parser.peek()? != Some(b'}') {
            loop {
                parser.expect_key()?;
                self.entry(&mut keys, parser)?;
                if !parser.comma(b'}')? {
                    break;
                }
            }
        }
        parser.close(b'}')?;
        self.keys.truncate(keys.first);
        self.close(start, Node::Object(self.nodes.len()));
        Ok(())
    }

    fn close(&mut self, start: usize, node: Node) {
        self.nodes.get_mut(start).into_iter().for_each(|open| *open = node.clone());
    }

    fn entry(&mut self, keys: &mut Keys, parser: &mut Parser<'_>) -> Result<()> {
        let text = self.text(parser)?;
        parser.expect(b':')?;
        let (place, value) = (self.nodes.len(), self.nodes.len() + 1);
        let known = keys.insert(self, text, place);
        self.nodes.push(if known.is_some() { Node::Repeated } else { Node::Key { text, value } });
        if let Some(Node::Key { value: first, .. }) = known.and_then(|known| self.nodes.get_mut(known)) {
            *first = value;
            self.repeated += 1;
        }
        self.value(parser)
    }

    fn at(&self, span: Span) -> &str {
        self.texts.get(span.start..span.end).unwrap_or_default()
    }

    /// Index after the value at `index`.
    fn after(&self, index: usize) -> usize {
        match self.nodes.get(index) {
            Some(Node::Array(end) | Node::Object(end)) => *end,
            _ => index + 1,
        }
    }

    fn text(&mut self, parser: &mut Parser<'_>) -> Result<Span> {
        let start = self.texts.len();
        parser.text_into(&mut self.texts)?;
        Ok(Span { start, end: self.texts.len() })
    }
}

/// A key of an object, and the index of its node.
#[derive(Clone, Copy, Debug)]
struct Key {
    /// Its first bytes, which tell nearly all keys apart without a look at the texts.
    prefix: u64,
    text: Span,
    place: usize,
}

impl Key {
    fn new(tape: &Tape, text: Span, place: usize) -> Self {
        let bytes = tape.at(text).as_bytes();
        let few = || bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        Self { prefix: bytes.first_chunk().map_or_else(few, |first| u64::from_be_bytes(*first)), text, place }
    }

    fn is_same(&self, other: &Self, tape: &Tape) -> bool {
        let len = self.text.end - self.text.start;
        self.prefix == other.prefix
            && len == other.text.end - other.text.start
            && (len <= size_of::<u64>() || tape.at(self.text) == tape.at(other.text))
    }
}

/// Keys of one object while it is read.
struct Keys {
    /// Index of its first key in [`Tape::keys`].
    first: usize,
    /// Further keys of a large object.
    many: Option<ByHash<usize>>,
}

impl Keys {
    /// Objects up to this size are searched without an index.
    const FEW: usize = 16;

    /// Adds a key, or returns the index of the node if the key is already present.
    fn insert(&mut self, tape: &mut Tape, text: Span, place: usize) -> Option<usize> {
        let key = Key::new(tape, text, place);
        let few = tape.keys.get(self.first..).unwrap_or_default();
        if let Some(known) = few.iter().find(|known| known.is_same(&key, tape)) {
            return Some(known.place);
        }
        if few.len() < Self::FEW {
            tape.keys.push(key);
            return None;
        }
        let many = self.many.get_or_insert_default();
        let hash = hash_of(tape.at(text));
        let known = many.get(&hash).copied();
        if known.is_none() {
            many.insert(hash, place);
        }
        known
    }
}

/// A value, or a part of one, on a tape.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    tape: &'a Tape,
    index: usize,
}

impl<'a> Item<'a> {
    /// Value under `key`; `None` if this is not an object or lacks the key.
    pub fn get(self, key: &str) -> Option<Self> {
        self.entries()?.find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// Entries of an object, in file order. A repeated key keeps its first place and its last value, as in Python.
    pub fn entries(self) -> Option<impl Iterator<Item = (&'a str, Self)>> {
        let Self { tape, index } = self;
        let Some(Node::Object(end)) = tape.nodes.get(index) else { return None };
        let mut next = index + 1;
        let entries = std::iter::from_fn(move || {
            let place = next;
            next = tape.after(place + 1);
            (place < *end).then(|| tape.nodes.get(place)).flatten()
        });
        Some(entries.filter_map(move |node| match node {
            Node::Key { text, value } => Some((tape.texts.get(text.start..text.end)?, Self { tape, index: *value })),
            _ => None,
        }))
    }

    /// Items of an array.
    pub fn items(self) -> Option<impl Iterator<Item = Self>> {
        let Self { tape, index } = self;
        let Some(Node::Array(end)) = tape.nodes.get(index) else { return None };
        let mut next = index + 1;
        Some(std::iter::from_fn(move || {
            let index = next;
            next = tape.after(index);
            (index < *end).then_some(Self { tape, index })
        }))
    }

    /// Text of a string.
    pub fn as_str(self) -> Option<&'a str> {
        let Some(Node::Text(text)) = self.tape.nodes.get(self.index) else { return None };
        self.tape.texts.get(text.start..text.end)
    }

    /// Value of a scalar other than a text.
    pub fn scalar(self) -> Option<&'a Json> {
        let Some(Node::Scalar(value)) = self.tape.nodes.get(self.index) else { return None };
        Some(value)
    }

    /// Copy of the value as a tree.
    pub fn json(self) -> Json {
        if let Some(items) = self.items() {
            return Json::Array(items.map(Self::json).collect());
        }
        if let Some(entries) = self.entries() {
            return Json::Object(entries.map(|(key, value)| (key.to_owned(), value.json())).collect());
        }
        self.as_str().map_or_else(|| self.scalar().cloned().unwrap_or(Json::Null), |text| Json::Text(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fetch::MemorySource;

    fn on_tape(text: &str) -> Result<(Json, bool)> {
        let source = MemorySource::new("test.json", text.as_bytes().to_vec());
        let (mut parser, mut tape) = (Parser::new(&source), Tape::default());
        tape.read(&mut parser)?;
        parser.end()?;
        Ok((tape.root().json(), tape.has_repeated_keys()))
    }

    fn as_tree(text: &str) -> Result<(Json, bool)> {
        let source = MemorySource::new("test.json", text.as_bytes().to_vec());
        let mut parser = Parser::new(&source);
        let value = parser.value()?;
        parser.end()?;
        Ok((value, parser.repeated_keys > 0))
    }

    fn document() -> impl Strategy<Value = String> {
        let scalar = prop_oneof![
            Just("null".to_owned()),
            Just("true".to_owned()),
            Just("NaN".to_owned()),
            Just("-Infinity".to_owned()),
            Just("12345678901234567890123".to_owned()),
            any::<i64>().prop_map(|value| value.to_string()),
            any::<f32>().prop_map(|value| format!("{value:e}")),
            Just("\"\"".to_owned()),
            Just(r#""é\n\ud83d\ude00 \udcff\"""#.to_owned()),
            Just("\"a\"".to_owned()),
        ];
        scalar.prop_recursive(4, 40, 6, |inner| {
            let key = prop_oneof![Just("a"), Just("b"), Just("\\u0061"), Just("c d")];
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(|items| format!("[{}]", items.join(", "))),
                proptest::collection::vec((key, inner), 0..6).prop_map(|entries| {
                    let entries: Vec<String> =
                        entries.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
                    format!("{{{}}}", entries.join(","))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_tape_holds_what_a_tree_holds(text in document()) {
            let (tape, tree) = (on_tape(&text).expect("valid"), as_tree(&text).expect("valid"));
            // NaN is not equal to itself; its text is.
            prop_assert_eq!(format!("{tape:?}"), format!("{tree:?}"));
        }

        #[test]
        fn damage_is_told_in_the_same_words(text in document(), at in any::<prop::sample::Index>(), byte in 0_u8..128) {
            let mut bytes = text.into_bytes();
            let place = at.index(bytes.len());
            bytes[place] = byte;
            let Ok(text) = String::from_utf8(bytes) else { return Ok(()) };
            match (on_tape(&text), as_tree(&text)) {
                (Err(tape), Err(tree)) => prop_assert_eq!(tape.to_string(), tree.to_string()),
                (tape, tree) => prop_assert_eq!(format!("{tape:?}"), format!("{tree:?}")),
            }
        }
    }
}
