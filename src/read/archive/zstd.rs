//! Decoder of Zstandard files that hold several frames.

use std::io::{self, Read};

use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

/// Reader of Zstandard frames that follow one another, as tools that compress in parallel write them.
pub(crate) struct Zstd<R: Read> {
    frame: Option<Box<StreamingDecoder<R, FrameDecoder>>>,
    rest: Option<R>,
}

impl<R: io::BufRead> Zstd<R> {
    /// Creates a reader of the expanded content of `packed`.
    pub(crate) fn new(packed: R) -> Self {
        Self { frame: None, rest: Some(packed) }
    }

    /// Begins the next frame; returns `false` at the end of the file.
    fn begin(&mut self) -> io::Result<bool> {
        let Some(mut packed) = self.rest.take() else { return Ok(false) };
        if packed.fill_buf()?.is_empty() {
            return Ok(false);
        }
        let frame = StreamingDecoder::new(packed);
        self.frame = Some(Box::new(frame.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?));
        Ok(true)
    }
}

impl<R: io::BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(frame) = &mut self.frame {
                let len = frame.read(buffer)?;
                if len > 0 || buffer.is_empty() {
                    return Ok(len);
                }
                self.rest = self.frame.take().map(|frame| frame.into_inner());
            }
            if !self.begin()? {
                return Ok(0);
            }
        }
    }
}
