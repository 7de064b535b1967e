//! Values that a parser's buffer holds to their end, as nearly all records of a dump are: read without asking for the next block at
//! every byte. Whatever is unusual (an escape, a number that the standard library has to read, damage) is left to the parser, which
//! reads the value from its beginning and says what is wrong with it.

use super::super::parser::{MAX_DEPTH, Parser, is_of_word};
use super::super::value::Json;
use super::super::words::text_len;
use super::nodes::{Node, Nodes, Span};
use crate::read::decimal::Decimal;

/// Reads the value at the parser's position into empty `nodes` and `texts`; `None` if the parser has to read it.
pub(super) fn read(nodes: &mut Nodes, texts: &mut String, parser: &mut Parser<'_>) -> Option<()> {
    let text = parser.buffer.get(parser.position..)?;
    let most_nodes = usize::try_from(parser.memory).unwrap_or(usize::MAX) / (size_of::<Node>() + 1);
    let mut reader = Reader { text, at: 0, nodes, most_nodes };
    reader.value(parser.depth)?;
    let end = reader.at;
    // Spans of the value are spans of its copy.
    texts.push_str(std::str::from_utf8(text.get(..end)?).ok()?);
    parser.position += end;
    Some(())
}

struct Reader<'r> {
    text: &'r [u8],
    at: usize,
    nodes: &'r mut Nodes,
    /// Largest number of nodes that fit into the memory of a value.
    most_nodes: usize,
}

impl Reader<'_> {
    /// Next byte that is not white space, without consuming it.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.text.get(self.at)? {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                byte => return Some(*byte),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        if self.nodes.len() >= self.most_nodes || depth >= MAX_DEPTH {
            return None;
        }
        let first = self.peek()?;
        let node = match first {
            b'{' => return self.object(depth + 1),
            b'[' => return self.array(depth + 1),
            b'"' => Node::Text(self.text()?),
            b'0'..=b'9' => Node::Scalar(self.number()?),
            b'-' if self.text.get(self.at + 1) != Some(&b'I') => Node::Scalar(self.number()?),
            b'-' => Node::Scalar(self.word(b"-Infinity", Json::Float(f64::NEG_INFINITY))?),
            b'n' => Node::Scalar(self.word(b"null", Json::Null)?),
            b't' => Node::Scalar(self.word(b"true", Json::Bool(true))?),
            b'f' => Node::Scalar(self.word(b"false", Json::Bool(false))?),
            b'N' => Node::Scalar(self.word(b"NaN", Json::Float(f64::NAN))?),
            b'I' => Node::Scalar(self.word(b"Infinity", Json::Float(f64::INFINITY))?),
            _ => return None,
        };
        self.nodes.push(node);
        Some(())
    }

    fn array(&mut self, depth: usize) -> Option<()> {
        let start = self.nodes.open(Node::Array(0));
        self.at += 1;
        if self.peek()? != b']' {
            loop {
                self.value(depth)?;
                if !self.comma(b']')? {
                    break;
                }
            }
        }
        self.at += 1;
        self.nodes.close(start, Node::Array(self.nodes.len()));
        Some(())
    }

    fn object(&mut self, depth: usize) -> Option<()> {
        let start = self.nodes.open(Node::Object(0));
        self.at += 1;
        let mut keys = self.nodes.open_keys();
        if self.peek()? != b'}' {
            loop {
                if self.peek()? != b'"' {
                    return None;
                }
                let key = self.text()?;
                self.nodes.push_key(&mut keys, self.text, key);
                if self.peek()? != b':' {
                    return None;
                }
                self.at += 1;
                self.value(depth)?;
                if !self.comma(b'}')? {
                    break;
                }
            }
        }
        self.at += 1;
        self.nodes.close_keys(keys);
        self.nodes.close(start, Node::Object(self.nodes.len()));
        Some(())
    }

    /// Consumes a comma and returns true, or leaves `closing` unread and returns false.
    #[inline]
    fn comma(&mut self, closing: u8) -> Option<bool> {
        let byte = self.peek()?;
        self.at += usize::from(byte == b',');
        (byte == b',' || byte == closing).then_some(byte == b',')
    }

    /// Reads the text at whose opening quote the reader is; `None` if it has an escape.
    #[inline]
    fn text(&mut self) -> Option<Span> {
        let start = self.at + 1;
        let end = start + text_len(self.text.get(start..)?)?;
        self.at = end + 1;
        (self.text.get(end) == Some(&b'"')).then_some(Span { start, end })
    }

    #[inline]
    fn number(&mut self) -> Option<Json> {
        let (number, rest) = Decimal::take(self.text.get(self.at..)?)?;
        self.at = self.text.len() - rest.len();
        let value = if number.is_whole() { Json::Int(number.whole()?) } else { Json::Float(number.nearest_f64()?) };
        self.ends_word().then_some(value)
    }

    fn word(&mut self, word: &[u8], value: Json) -> Option<Json> {
        let is_it = self.text.get(self.at..)?.starts_with(word);
        self.at += word.len();
        (is_it && self.ends_word()).then_some(value)
    }

    /// Whether another byte follows, and is not of the same number or word.
    #[inline]
    fn ends_word(&self) -> bool {
        self.text.get(self.at).is_some_and(|byte| !is_of_word(*byte))
    }
}
