//! Bodies of answers, read as they arrive and up to a limit.

use bytes::Bytes;
use futures_util::{Stream, StreamExt};

/// A body, or its start.
#[derive(Debug, Default)]
pub(crate) struct Limited {
    /// Bytes that were read.
    pub(crate) bytes: Vec<u8>,
    /// Whether these bytes are the whole body.
    pub(crate) is_complete: bool,
}

/// Reads `pieces` up to `most` bytes. The rest is not read: the caller drops the connection with the stream.
pub(crate) async fn read<E>(pieces: impl Stream<Item = Result<Bytes, E>>, most: usize) -> Result<Limited, E> {
    let mut pieces = std::pin::pin!(pieces);
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.next().await.transpose()? {
        let left = most.saturating_sub(bytes.len());
        bytes.extend_from_slice(piece.get(..left).unwrap_or(&piece));
        if piece.len() > left {
            return Ok(Limited { bytes, is_complete: false });
        }
    }
    Ok(Limited { bytes, is_complete: true })
}

/// A limit in bytes in words.
pub(crate) fn limit_in_words(most: usize) -> String {
    if most < 1 << 20 { format!("{} KiB", most >> 10) } else { format!("{} MiB", most >> 20) }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn no_more_than_the_limit_and_one_piece_is_taken() {
        for (pieces, most, length, whole) in [(3, 30, 30, true), (3, 31, 30, true), (3, 29, 29, false), (0, 0, 0, true)]
        {
            let body = stream::iter((0..pieces).map(|_| Ok::<_, ()>(Bytes::from_static(&[7; 10]))));
            let read = read(body, most).await.expect("no failure");
            assert_eq!((read.bytes.len(), read.is_complete), (length, whole), "{pieces} {most}");
        }
        let mut taken = 0;
        let endless = stream::iter(std::iter::repeat_with(|| {
            taken += 1;
            Ok::<_, ()>(Bytes::from_static(&[7; 10]))
        }));
        assert!(!read(endless, 100).await.expect("no failure").is_complete);
        assert_eq!(taken, 11);
    }

    #[tokio::test]
    async fn a_broken_body_is_a_failure() {
        let body = stream::iter([Ok(Bytes::from_static(b"{")), Err("cut")]);
        assert_eq!(read(body, 100).await.map(|read| read.is_complete), Err("cut"));
    }
}
