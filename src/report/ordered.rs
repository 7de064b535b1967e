//! Parts of a document that are made on all cores and consumed in their order.

use std::ops::Range;

use rayon::prelude::*;

use crate::error::Result;

/// Number of items in a part: enough to be worth handing to a thread, few enough to be held in memory for every core.
const AT_ONCE: usize = 16;
/// Number of parts in a round, for every thread.
const PARTS: usize = 8;

/// Makes `count` items in parts on all cores, and passes the parts to `take` in order, a round of them at a time. At most two rounds are
/// in memory: one is consumed while the next is made. A part is made in place of an earlier one, which it replaces, so that buffers
/// are used again.
///
/// # Errors
/// Those of `make` and `take`; the first in order ends it.
pub(super) fn in_order<T: Default + Send + Sync>(
    count: usize,
    make: impl Fn(Range<usize>, &mut T) -> Result<()> + Sync,
    mut take: impl FnMut(&[T]) -> Result<()> + Send,
) -> Result<()> {
    let parts = count.div_ceil(AT_ONCE);
    let round = PARTS * rayon::current_num_threads();
    let make_round = |from: usize, places: &mut Vec<T>| -> Result<()> {
        places.resize_with(round.min(parts.saturating_sub(from)), T::default);
        // One by one, so that no worker waits at the end of a round for a batch that another one has begun.
        let numbered = places.par_iter_mut().with_max_len(1).enumerate().map(|(place, part)| (from + place, part));
        let made: Vec<Result<()>> =
            numbered.map(|(index, part)| make(index * AT_ONCE..count.min((index + 1) * AT_ONCE), part)).collect();
        let failed = made.iter().position(Result::is_err);
        places.truncate(failed.unwrap_or(places.len()));
        made.into_iter().collect()
    };
    let (mut waiting, mut free) = (Vec::new(), Vec::new());
    let (mut made, mut next) = (make_round(0, &mut waiting), round);
    while !waiting.is_empty() {
        let (taken, following) = rayon::join(|| take(&waiting), || make_round(next, &mut free));
        taken?;
        made?;
        std::mem::swap(&mut waiting, &mut free);
        (made, next) = (following, next + round);
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, ErrorKind};

    fn in_place(items: Range<usize>, part: &mut Range<usize>) -> Result<()> {
        *part = items;
        Ok(())
    }

    #[test]
    fn parts_come_in_order_and_an_error_ends_them() {
        for count in [0, 1, AT_ONCE, AT_ONCE + 1, 50 * AT_ONCE + 3] {
            let mut taken = Vec::new();
            let all = in_order(count, in_place, |parts| {
                taken.extend(parts.iter().cloned().flatten());
                Ok(())
            });
            assert!(all.is_ok());
            assert_eq!(taken, (0..count).collect::<Vec<_>>());
        }
        let full = || Error::new(ErrorKind::Internal, "", "full");
        let many = 4 * PARTS * rayon::current_num_threads() * AT_ONCE;
        let mut rounds = 0;
        let stopped = in_order(many, in_place, |_| {
            rounds += 1;
            if rounds == 3 { Err(full()) } else { Ok(()) }
        });
        assert!(stopped.is_err());
        assert_eq!(rounds, 3, "nothing is taken after an error");
        let mut taken = Vec::new();
        let unmade = in_order(
            many,
            |items, part| if items.contains(&(many / 2 + 1)) { Err(full()) } else { in_place(items, part) },
            |parts| {
                taken.extend(parts.iter().cloned().flatten());
                Ok(())
            },
        );
        assert!(unmade.is_err());
        assert_eq!(taken, (0..many / 2).collect::<Vec<_>>(), "every part before the error is taken");
    }
}
