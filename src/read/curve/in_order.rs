//! Small parts of a source that are read one behind the other.

use crate::error::Result;
use crate::fetch::ByteSource;

/// Bytes that are read at once: a call of the system for each part would take longer than all else that is done with it.
const BLOCK: u64 = 256 * 1024;

/// Reader of parts in rising order, by their offsets and with the source's own errors, which a buffered reader would hide.
pub(super) struct InOrder<'a> {
    source: &'a dyn ByteSource,
    block: Vec<u8>,
    /// Offset of the block in the source.
    start: u64,
}

impl<'a> InOrder<'a> {
    pub(super) fn new(source: &'a dyn ByteSource) -> Self {
        Self { source, block: Vec::new(), start: 0 }
    }

    /// The `len` bytes at `offset`, which the source must have.
    ///
    /// # Errors
    /// Those of reading the source.
    pub(super) fn bytes(&mut self, offset: u64, len: usize) -> Result<&[u8]> {
        let end = offset + len as u64;
        if offset < self.start || end > self.start + self.block.len() as u64 {
            let left = self.source.len().saturating_sub(offset);
            let read = usize::try_from(BLOCK.min(left)).unwrap_or(len).max(len);
            // Empty after an error, so that nothing else is taken for these bytes.
            let mut block = std::mem::take(&mut self.block);
            block.resize(read, 0);
            self.source.read_at(offset, &mut block)?;
            (self.block, self.start) = (block, offset);
        }
        let at = usize::try_from(offset - self.start).unwrap_or_default();
        Ok(self.block.get(at..at + len).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::MemorySource;

    #[test]
    fn parts_are_those_of_the_source() {
        let bytes: Vec<u8> = (0..700_000_u32).map(|at| u8::try_from(at % 251).expect("below 251")).collect();
        let source = MemorySource::new("frames", bytes.clone());
        let mut reader = InOrder::new(&source);
        for (offset, len) in
            [(0, 12), (12, 300_000), (299_999, 7), (600_000, 100_000), (5, 3), (699_999, 1), (700_000, 0)]
        {
            let at = usize::try_from(offset).expect("small");
            assert_eq!(reader.bytes(offset, len).expect("read"), &bytes[at..at + len], "{offset}");
        }
        assert!(reader.bytes(699_999, 2).is_err());
    }
}
