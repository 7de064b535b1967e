//! Pickles, read as data: a stack machine that builds a graph of plain values and calls nothing.
//!
//! Covers the opcodes of protocols 0 to 5 that `torch.save` writes (Python's `pickletools` lists them). Classes and
//! functions stay names: a call becomes a node with its name and arguments, and only where the caller's
//! list allows that name; any other call is refused. Not read: instances of old-style classes, extension codes and
//! out-of-band buffers, which no tensor file holds.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{ByteSource, check_memory};

/// Longest pickle that is read. A state dict needs about 300 bytes a tensor, so this is over 200 000 tensors.
const MAX_BYTES: u64 = 64 << 20;
/// Largest number of opcodes that are followed: bounds the graph to some hundred megabytes whatever a small file claims.
const MAX_OPCODES: u64 = 8 << 20;
/// Longest name, number or text line of the old text opcodes.
const MAX_LINE: usize = 64 << 10;
/// Bytes fetched at once; the pickle of one tensor fits.
const FETCH: u64 = 4 << 10;

/// Index of a node in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeId(usize);

/// A value. Values that can be shared, or changed later, are nodes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PickleValue {
    None,
    Bool(bool),
    Int(i64),
    /// An integer beyond 64 bits.
    BigInt,
    Float(f64),
    Text(Arc<str>),
    /// A byte string, such as the elements of a NumPy array.
    Bytes(Arc<[u8]>),
    /// A class or function: `module name`.
    Global(Arc<str>),
    Node(NodeId),
}

/// A composed value.
#[derive(Debug)]
pub(crate) enum PickleNode {
    Tuple(Vec<PickleValue>),
    List(Vec<PickleValue>),
    Dict(Vec<(PickleValue, PickleValue)>),
    /// A call of an allowed function with its arguments, and the items and the state that are set on the result afterwards.
    Call {
        callable: Arc<str>,
        arguments: Vec<PickleValue>,
        items: Vec<(PickleValue, PickleValue)>,
        state: Option<PickleValue>,
    },
    /// A persistent id: a reference to a value that is stored outside of the pickle.
    Persistent(PickleValue),
}

/// Values of a pickle, with the references between them.
#[derive(Debug)]
pub(crate) struct Graph {
    nodes: Vec<PickleNode>,
    root: PickleValue,
}

impl Graph {
    pub(crate) fn root(&self) -> &PickleValue {
        &self.root
    }

    /// The node that a value refers to; `None` for other values.
    pub(crate) fn node(&self, value: &PickleValue) -> Option<&PickleNode> {
        match value {
            PickleValue::Node(id) => self.nodes.get(id.0),
            _ => None,
        }
    }

    /// The elements of a tuple or list.
    pub(crate) fn sequence(&self, value: &PickleValue) -> Option<&[PickleValue]> {
        match self.node(value)? {
            PickleNode::Tuple(items) | PickleNode::List(items) => Some(items),
            _ => None,
        }
    }

    /// Every persistent id.
    pub(crate) fn persistent_ids(&self) -> impl Iterator<Item = &PickleValue> {
        self.nodes.iter().filter_map(|node| match node {
            PickleNode::Persistent(id) => Some(id),
            _ => None,
        })
    }
}

/// Bytes of a source from one offset to another, read forward.
pub(crate) struct PickleInput<'a> {
    source: &'a dyn ByteSource,
    buffer: Vec<u8>,
    at: usize,
    /// Offset after the last byte in the buffer.
    next: u64,
    end: u64,
}

impl<'a> PickleInput<'a> {
    /// Reads `source` from `start` up to `end`.
    pub(crate) fn new(source: &'a dyn ByteSource, start: u64, end: u64) -> Self {
        Self { source, buffer: Vec::new(), at: 0, next: start, end: end.min(source.len()) }
    }

    /// Offset of the next byte.
    pub(crate) fn position(&self) -> u64 {
        self.next - (self.buffer.len() - self.at) as u64
    }

    fn corrupt(&self, message: impl std::fmt::Display) -> Error {
        Error::corrupt(self.source.name(), format!("{message} at offset {} of its pickle", self.position()))
    }

    fn refill(&mut self) -> Result<()> {
        let len = self.end.saturating_sub(self.next).min(FETCH);
        if len == 0 {
            return Err(self
                .corrupt("ends in the middle of a value")
                .with_help("the file looks cut short; copy it again"));
        }
        self.buffer.resize(usize::try_from(len).unwrap_or(0), 0);
        self.source.read_at(self.next, &mut self.buffer)?;
        self.next += len;
        self.at = 0;
        Ok(())
    }

    fn byte(&mut self) -> Result<u8> {
        if self.at == self.buffer.len() {
            self.refill()?;
        }
        let byte = self.buffer.get(self.at).copied().ok_or_else(|| self.corrupt("no byte"))?;
        self.at += 1;
        Ok(byte)
    }

    fn take(&mut self, len: u64) -> Result<Vec<u8>> {
        if len > self.end.saturating_sub(self.position()) {
            return Err(self.corrupt(format!("a value of {len} bytes does not fit the file")));
        }
        let len = usize::try_from(len).map_err(|_| self.corrupt("value too long"))?;
        let mut bytes = Vec::with_capacity(len);
        while bytes.len() < len {
            if self.at == self.buffer.len() {
                self.refill()?;
            }
            let part = self.buffer.get(self.at..).unwrap_or_default();
            let part = part.get(..len - bytes.len()).unwrap_or(part);
            bytes.extend_from_slice(part);
            self.at += part.len();
        }
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        for byte in &mut array {
            *byte = self.byte()?;
        }
        Ok(array)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = Vec::new();
        loop {
            match self.byte()? {
                b'\n' => return String::from_utf8(line).map_err(|_| self.corrupt("text that is not UTF-8")),
                _ if line.len() == MAX_LINE => return Err(self.corrupt("a line without end")),
                byte => line.push(byte),
            }
        }
    }

    fn text(&mut self, len: u64) -> Result<PickleValue> {
        let text = String::from_utf8(self.take(len)?).map_err(|_| self.corrupt("text that is not UTF-8"))?;
        Ok(PickleValue::Text(text.into()))
    }

    fn bytes(&mut self, len: u64) -> Result<PickleValue> {
        Ok(PickleValue::Bytes(self.take(len)?.into()))
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A little-endian two's complement number of any length.
    fn long(&mut self, len: u64) -> Result<PickleValue> {
        let bytes = self.take(len)?;
        let negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
        let mut full = [if negative { 0xff } else { 0 }; 8];
        if bytes.len() > full.len() {
            return Ok(PickleValue::BigInt);
        }
        full.iter_mut().zip(&bytes).for_each(|(to, from)| *to = *from);
        Ok(PickleValue::Int(i64::from_le_bytes(full)))
    }
}

/// Reads one pickle from `input`, which then stands after it. Only calls whose name `allowed` accepts are kept.
///
/// # Errors
/// `Corrupt` for damage, `Unsupported` for a callable that is not allowed or an opcode no tensor file needs,
/// `LimitExceeded` beyond the caps of this module.
pub(crate) fn parse(input: &mut PickleInput<'_>, allowed: &dyn Fn(&str) -> bool) -> Result<Graph> {
    let start = input.position();
    let end = input.end;
    input.end = end.min(start.saturating_add(MAX_BYTES));
    let mut machine = Machine {
        input,
        allowed,
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
        nodes: Vec::new(),
        items: 0,
        texts: 0,
    };
    let root = machine.run();
    let nodes = machine.nodes;
    input.end = end;
    match root {
        Err(error) if input.position() - start >= MAX_BYTES && error.kind() == ErrorKind::Corrupt => Err(Error::new(
            ErrorKind::LimitExceeded,
            input.source.name(),
            format!("its pickle is longer than {MAX_BYTES} bytes, the most that is read"),
        )),
        root => Ok(Graph { nodes, root: root? }),
    }
}

struct Machine<'i, 's, 'a> {
    input: &'i mut PickleInput<'s>,
    allowed: &'a dyn Fn(&str) -> bool,
    stack: Vec<PickleValue>,
    marks: Vec<usize>,
    memo: HashMap<u32, PickleValue>,
    nodes: Vec<PickleNode>,
    /// Values inside of nodes.
    items: usize,
    /// Bytes of texts and byte strings.
    texts: usize,
}

impl Machine<'_, '_, '_> {
    fn run(&mut self) -> Result<PickleValue> {
        for _ in 0..MAX_OPCODES {
            let opcode = self.input.byte()?;
            if opcode == b'.' {
                return self.pop();
            }
            self.step(opcode)?;
            check_memory(self.input.source, self.held())?;
        }
        let message = format!("its pickle has more than {MAX_OPCODES} opcodes");
        Err(Error::new(ErrorKind::LimitExceeded, self.input.source.name(), message))
    }

    /// Bytes of memory that all values take.
    fn held(&self) -> usize {
        let values = self.stack.len() + self.memo.len() + self.items;
        self.nodes.len() * size_of::<PickleNode>() + values * size_of::<PickleValue>() + self.texts
    }

    fn step(&mut self, opcode: u8) -> Result<()> {
        match opcode {
            0x80 => self.input.byte().map(drop),
            0x95 => self.input.u64().map(drop),
            b'(' => {
                self.marks.push(self.stack.len());
                Ok(())
            }
            b'0' => self.pop().map(drop),
            b'1' => self.pop_mark().map(drop),
            b'2' => self.top().map(|value| self.stack.push(value)),
            b'p' | b'q' | b'r' | 0x94 | b'g' | b'h' | b'j' => self.memoise(opcode),
            b't' | b')' | 0x85..=0x87 | b'l' | b']' | b'd' | b'}' | 0x8f | 0x91 => self.compose(opcode),
            b'a' | b'e' | 0x90 | b's' | b'u' => self.extend(opcode),
            b'c' | 0x93 | b'R' | 0x81 | 0x92 | b'b' | b'P' | b'Q' => self.name_or_call(opcode),
            _ => {
                let value = self.literal(opcode)?;
                self.texts += match &value {
                    PickleValue::Text(text) => text.len(),
                    PickleValue::Bytes(bytes) => bytes.len(),
                    _ => 0,
                };
                self.stack.push(value);
                Ok(())
            }
        }
    }

    fn literal(&mut self, opcode: u8) -> Result<PickleValue> {
        let input = &mut *self.input;
        Ok(match opcode {
            b'N' => PickleValue::None,
            0x88 => PickleValue::Bool(true),
            0x89 => PickleValue::Bool(false),
            b'J' => PickleValue::Int(i64::from(i32::from_le_bytes(input.array()?))),
            b'K' => PickleValue::Int(i64::from(input.byte()?)),
            b'M' => PickleValue::Int(i64::from(u16::from_le_bytes(input.array()?))),
            0x8a => {
                let len = u64::from(input.byte()?);
                input.long(len)?
            }
            0x8b => {
                let len = u64::from(input.u32()?);
                input.long(len)?
            }
            b'I' | b'L' => line_number(&input.line()?).ok_or_else(|| input.corrupt("a number that is none"))?,
            b'F' => PickleValue::Float(input.line()?.parse().map_err(|_| input.corrupt("a number that is none"))?),
            b'G' => PickleValue::Float(f64::from_be_bytes(input.array()?)),
            0x8c => {
                let len = u64::from(input.byte()?);
                input.text(len)?
            }
            b'X' => {
                let len = u64::from(input.u32()?);
                input.text(len)?
            }
            0x8d => {
                let len = input.u64()?;
                input.text(len)?
            }
            b'V' => PickleValue::Text(input.line()?.into()),
            b'U' | b'C' => {
                let len = u64::from(input.byte()?);
                if opcode == b'U' { input.text(len)? } else { input.bytes(len)? }
            }
            b'T' | b'B' => {
                let len = u64::from(input.u32()?);
                if opcode == b'T' { input.text(len)? } else { input.bytes(len)? }
            }
            0x8e | 0x96 => {
                let len = input.u64()?;
                input.bytes(len)?
            }
            _ => {
                let message = format!("pickle opcode 0x{opcode:02x} is not one that tensor files need");
                return Err(Error::unsupported(input.source.name(), message));
            }
        })
    }

    fn memoise(&mut self, opcode: u8) -> Result<()> {
        let key = match opcode {
            b'p' | b'g' => {
                let line = self.input.line()?;
                line.trim().parse().map_err(|_| self.input.corrupt("a memo key that is not a number"))?
            }
            b'q' | b'h' => u32::from(self.input.byte()?),
            b'r' | b'j' => self.input.u32()?,
            _ => u32::try_from(self.memo.len()).map_err(|_| self.input.corrupt("memo too large"))?,
        };
        if matches!(opcode, b'g' | b'h' | b'j') {
            let value = self.memo.get(&key).cloned();
            self.stack.push(value.ok_or_else(|| self.input.corrupt("a reference to nothing"))?);
        } else {
            let value = self.top()?;
            self.memo.insert(key, value);
        }
        Ok(())
    }

    fn compose(&mut self, opcode: u8) -> Result<()> {
        let node = match opcode {
            b')' => PickleNode::Tuple(Vec::new()),
            0x85..=0x87 => PickleNode::Tuple(self.pop_many(usize::from(opcode - 0x84))?),
            b't' => PickleNode::Tuple(self.pop_mark()?),
            b']' | 0x8f => PickleNode::List(Vec::new()),
            b'l' | 0x91 => PickleNode::List(self.pop_mark()?),
            b'}' => PickleNode::Dict(Vec::new()),
            _ => PickleNode::Dict(pairs(self.pop_mark()?)),
        };
        self.push_node(node);
        Ok(())
    }

    fn extend(&mut self, opcode: u8) -> Result<()> {
        let values = match opcode {
            b'a' => self.pop_many(1)?,
            b's' => self.pop_many(2)?,
            _ => self.pop_mark()?,
        };
        self.items += values.len();
        let PickleValue::Node(id) = self.top()? else { return Err(self.input.corrupt("items for what holds none")) };
        match (self.nodes.get_mut(id.0), opcode) {
            (Some(PickleNode::List(items)), b'a' | b'e' | 0x90) => items.extend(values),
            (Some(PickleNode::Dict(items) | PickleNode::Call { items, .. }), b's' | b'u') => {
                items.extend(pairs(values))
            }
            _ => return Err(self.input.corrupt("items for what holds none")),
        }
        Ok(())
    }

    fn name_or_call(&mut self, opcode: u8) -> Result<()> {
        match opcode {
            b'c' => {
                let name = format!("{} {}", self.input.line()?, self.input.line()?);
                self.stack.push(PickleValue::Global(name.into()));
            }
            0x93 => {
                let names = self.pop_many(2)?;
                let [PickleValue::Text(module), PickleValue::Text(name)] = names.as_slice() else {
                    return Err(self.input.corrupt("a name that is not a text"));
                };
                self.stack.push(PickleValue::Global(format!("{module} {name}").into()));
            }
            b'P' => {
                let id = PickleValue::Text(self.input.line()?.into());
                self.push_node(PickleNode::Persistent(id));
            }
            b'Q' => {
                let id = self.pop()?;
                self.push_node(PickleNode::Persistent(id));
            }
            b'b' => self.build()?,
            _ => {
                let operands = self.pop_many(if opcode == 0x92 { 3 } else { 2 })?;
                self.call(&operands)?;
            }
        }
        Ok(())
    }

    /// Sets the state of an object after construction, such as the elements of an array. Attributes of dictionaries, and hooks, are
    /// dropped because no reader needs them.
    fn build(&mut self) -> Result<()> {
        let set = self.pop()?;
        let PickleValue::Node(id) = self.top()? else { return Ok(()) };
        if let Some(PickleNode::Call { state, .. }) = self.nodes.get_mut(id.0) {
            *state = Some(set);
        }
        Ok(())
    }

    fn call(&mut self, operands: &[PickleValue]) -> Result<()> {
        let (Some(PickleValue::Global(callable)), Some(PickleValue::Node(id))) = (operands.first(), operands.get(1))
        else {
            return Err(self.input.corrupt("a call of a value that is not a function"));
        };
        let Some(PickleNode::Tuple(arguments)) = self.nodes.get(id.0) else {
            return Err(self.input.corrupt("a call without arguments"));
        };
        if !(self.allowed)(callable) {
            let message = format!("asks to call `{}`, which no tensor file needs", callable.replace(' ', "."));
            return Err(Error::unsupported(self.input.source.name(), message)
                .with_help("save plain tensors or a plain state dict; nothing in the file was executed"));
        }
        let node = PickleNode::Call {
            callable: callable.clone(),
            arguments: arguments.clone(),
            items: Vec::new(),
            state: None,
        };
        self.push_node(node);
        Ok(())
    }

    fn push_node(&mut self, node: PickleNode) {
        self.items += match &node {
            PickleNode::Tuple(items) | PickleNode::List(items) => items.len(),
            PickleNode::Dict(items) => 2 * items.len(),
            PickleNode::Call { arguments, .. } => arguments.len(),
            PickleNode::Persistent(_) => 0,
        };
        self.stack.push(PickleValue::Node(NodeId(self.nodes.len())));
        self.nodes.push(node);
    }

    fn top(&self) -> Result<PickleValue> {
        self.stack.last().cloned().ok_or_else(|| self.input.corrupt("nothing on the stack"))
    }

    fn pop(&mut self) -> Result<PickleValue> {
        self.stack.pop().ok_or_else(|| self.input.corrupt("nothing on the stack"))
    }

    fn pop_many(&mut self, count: usize) -> Result<Vec<PickleValue>> {
        let start = self.stack.len().checked_sub(count);
        start.map(|start| self.stack.split_off(start)).ok_or_else(|| self.input.corrupt("too little on the stack"))
    }

    fn pop_mark(&mut self) -> Result<Vec<PickleValue>> {
        let mark = self.marks.pop().filter(|mark| *mark <= self.stack.len());
        mark.map(|mark| self.stack.split_off(mark)).ok_or_else(|| self.input.corrupt("no mark on the stack"))
    }
}

fn pairs(values: Vec<PickleValue>) -> Vec<(PickleValue, PickleValue)> {
    let mut values = values.into_iter();
    let mut pairs = Vec::with_capacity(values.len() / 2);
    while let (Some(key), Some(value)) = (values.next(), values.next()) {
        pairs.push((key, value));
    }
    pairs
}

fn line_number(line: &str) -> Option<PickleValue> {
    Some(match line {
        "00" => PickleValue::Bool(false),
        "01" => PickleValue::Bool(true),
        _ => line.trim().trim_end_matches('L').parse().map_or(PickleValue::BigInt, PickleValue::Int),
    })
}
