//! The write-ahead log of a database (`<name>-wal`), with pages that were committed but not yet moved into the database file. A
//! killed run leaves its last rows there.

use std::collections::HashMap;
use std::sync::Arc;

use super::number::u32_at;
use crate::error::Result;
use crate::fetch::{ByteSource, Source, past_end};

/// Length of the log's header in bytes.
const HEADER: usize = 32;
const FRAME: u64 = 24;
/// Magic number at the start of the log. If 1 is added to it, checksums use words in big-endian order.
const MAGIC: u32 = 0x377f_0682;

/// Whether a file begins like a write-ahead log.
pub fn is_log(head: &[u8]) -> bool {
    u32_at(head, 0).is_some_and(|magic| magic & !1 == MAGIC) && u32_at(head, 4) == Some(3_007_000)
}

/// Database combined with its write-ahead log, so that it includes all committed transactions. Returns the database unchanged if
/// the log has no committed pages, or belongs to another state of the database.
///
/// # Errors
/// Errors of reading the database or the log.
pub fn with_log(database: &Source, log: &Source) -> Result<Source> {
    let committed = committed(log.as_ref())?;
    Ok(match committed {
        Some(committed) => Arc::new(Merged { database: database.clone(), log: log.clone(), committed }),
        None => database.clone(),
    })
}

/// Pages of all committed transactions.
struct Committed {
    page_size: u64,
    /// Length of the database after the last transaction, in bytes.
    len: u64,
    /// Offset in the log of each page, numbered from 0.
    places: HashMap<u64, u64>,
}

fn committed(log: &dyn ByteSource) -> Result<Option<Committed>> {
    if log.len() < HEADER as u64 + FRAME {
        return Ok(None);
    }
    let mut header = [0; HEADER];
    log.read_at(0, &mut header)?;
    let page_size = u32_at(&header, 8).map_or(0, u64::from);
    let is_size = (512..=65536).contains(&page_size) && page_size.is_power_of_two();
    let big_endian = u32_at(&header, 0) == Some(MAGIC + 1);
    let mut sum = checksum([0, 0], header.get(..24).unwrap_or_default(), big_endian);
    if !is_log(&header) || !is_size || [u32_at(&header, 24), u32_at(&header, 28)] != sum.map(Some) {
        return Ok(None);
    }
    let mut frame = vec![0; usize::try_from(FRAME + page_size).unwrap_or_default()];
    let (mut open, mut committed) = (HashMap::new(), None::<Committed>);
    let mut at = HEADER as u64;
    while at + FRAME + page_size <= log.len() {
        log.read_at(at, &mut frame)?;
        let number = |place| u32_at(&frame, place);
        sum = checksum(sum, frame.get(..8).unwrap_or_default(), big_endian);
        sum = checksum(sum, frame.get(24..).unwrap_or_default(), big_endian);
        let salts = [number(8), number(12)] == [u32_at(&header, 16), u32_at(&header, 20)];
        if !salts || [number(16), number(20)] != sum.map(Some) {
            break;
        }
        if let Some(page) = number(0).and_then(|page| u64::from(page).checked_sub(1)) {
            open.insert(page, at + FRAME);
        }
        // The last page of a transaction records the length of the database after it, in pages.
        if let Some(pages) = number(4).filter(|pages| *pages > 0) {
            let mut places = committed.map_or_else(HashMap::new, |before| before.places);
            places.extend(open.drain());
            committed = Some(Committed { page_size, len: u64::from(pages) * page_size, places });
        }
        at += FRAME + page_size;
    }
    Ok(committed)
}

/// Checksum of the log over `bytes`, continued from `sum`.
fn checksum(sum: [u32; 2], bytes: &[u8], big_endian: bool) -> [u32; 2] {
    let word = |bytes: [u8; 4]| if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
    bytes.chunks_exact(8).fold(sum, |[first, second], pair| {
        let [a, b, c, d, e, f, g, h] = *pair.first_chunk().unwrap_or(&[0; 8]);
        let first = first.wrapping_add(word([a, b, c, d])).wrapping_add(second);
        [first, second.wrapping_add(word([e, f, g, h])).wrapping_add(first)]
    })
}

/// Database in which pages of the log replace its own pages.
struct Merged {
    database: Source,
    log: Source,
    committed: Committed,
}

impl ByteSource for Merged {
    fn name(&self) -> &str {
        self.database.name()
    }

    fn len(&self) -> u64 {
        self.committed.len
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let Committed { page_size, len, places } = &self.committed;
        if offset.checked_add(buffer.len() as u64).is_none_or(|end| end > *len) {
            return Err(past_end(self, offset, buffer.len()));
        }
        let (mut at, mut rest) = (offset, buffer);
        while !rest.is_empty() {
            let within = at % page_size;
            let here = usize::try_from(page_size - within).unwrap_or(usize::MAX).min(rest.len());
            let (now, later) = rest.split_at_mut(here);
            match places.get(&(at / page_size)) {
                Some(place) => self.log.read_at(place + within, now)?,
                None => self.database.read_at(at, now)?,
            }
            at += here as u64;
            rest = later;
        }
        Ok(())
    }

    fn memory_limit(&self) -> u64 {
        self.database.memory_limit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::MemorySource;

    /// Written by sqlite3 3.40.1, see `tests/fixtures/curve-sources/README.md`: ten rows in the file, ten in the log.
    const DATABASE: &[u8] = include_bytes!("../../../tests/fixtures/curve-sources/killed/trackio.db");
    const LOG: &[u8] = include_bytes!("../../../tests/fixtures/curve-sources/killed/trackio.db-wal");

    fn steps(log: &[u8]) -> usize {
        let database: Source = Arc::new(MemorySource::new("p.db", DATABASE.to_vec()));
        let log: Source = Arc::new(MemorySource::new("p.db-wal", log.to_vec()));
        let merged = with_log(&database, &log).expect("readable");
        let database = super::super::Database::open(merged.as_ref()).expect("sound");
        let table = database.table("metrics").expect("sound").expect("there");
        let mut rows = 0;
        database
            .rows(&table, |_| {
                rows += 1;
                Ok(())
            })
            .expect("sound");
        rows
    }

    #[test]
    fn rows_of_the_log_are_read_as_far_as_they_were_committed() {
        assert!(is_log(LOG));
        assert_eq!(steps(&[]), 10);
        assert_eq!(steps(LOG), 20);
        let cut = steps(&LOG[..LOG.len() - 1]);
        assert!((10..20).contains(&cut), "{cut}");
        let mut damaged = LOG.to_vec();
        damaged[40] ^= 1;
        assert_eq!(steps(&damaged), 10, "behind a damaged page nothing counts");
    }
}
