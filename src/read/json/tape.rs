//! A JSON value in memory that is reused for the next value, because there are hundreds of thousands of records.

mod buffered;
mod nodes;

use super::parser::Parser;
use super::value::Json;
use crate::error::Result;
use nodes::{Keys, Node, Nodes, Span};

/// One value of any kind, whose parts share two buffers instead of having their own memory.
#[derive(Debug, Default)]
pub struct Tape {
    nodes: Nodes,
    /// Texts one after the other, or the whole value as it is written.
    texts: String,
}

impl Tape {
    /// Reads the value at the parser's position and replaces the previous content.
    ///
    /// # Errors
    /// Those of [`Parser::value`].
    pub fn read(&mut self, parser: &mut Parser<'_>) -> Result<()> {
        parser.peek()?;
        self.clear();
        if buffered::read(&mut self.nodes, &mut self.texts, parser).is_some() {
            return Ok(());
        }
        self.clear();
        self.value(parser)
    }

    fn clear(&mut self) {
        self.nodes.clear();
        self.texts.clear();
    }

    /// The whole value.
    pub fn root(&self) -> Item<'_> {
        Item { tape: self, index: 0 }
    }

    /// Whether an object has a key more than once.
    pub(crate) fn has_repeated_keys(&self) -> bool {
        self.nodes.has_repeated_keys()
    }

    fn value(&mut self, parser: &mut Parser<'_>) -> Result<()> {
        parser.check_memory(self.nodes.bytes() + self.texts.len())?;
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
        let start = self.nodes.open(Node::Array(0));
        parser.array(|parser| self.value(parser))?;
        self.nodes.close(start, Node::Array(self.nodes.len()));
        Ok(())
    }

    fn object(&mut self, parser: &mut Parser<'_>) -> Result<()> {
        let start = self.nodes.open(Node::Object(0));
        parser.open(b'{')?;
        let mut keys = self.nodes.open_keys();
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
        self.nodes.close_keys(keys);
        self.nodes.close(start, Node::Object(self.nodes.len()));
        Ok(())
    }

    fn entry(&mut self, keys: &mut Keys, parser: &mut Parser<'_>) -> Result<()> {
        let key = self.text(parser)?;
        parser.expect(b':')?;
        self.nodes.push_key(keys, self.texts.as_bytes(), key);
        self.value(parser)
    }

    fn text(&mut self, parser: &mut Parser<'_>) -> Result<Span> {
        let start = self.texts.len();
        parser.text_into(&mut self.texts)?;
        Ok(Span { start, end: self.texts.len() })
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
            next = tape.nodes.after(place + 1);
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
            next = tape.nodes.after(index);
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
