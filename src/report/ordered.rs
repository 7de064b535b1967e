//! Parts of a document that are made on all cores and consumed in their order.

use std::ops::Range;

use rayon::prelude::*;

use crate::error::Result;

/// Number of items in a part: enough to be worth handing to a thread, few enough to be held in memory for every core.
const AT_ONCE: usize = 16;

/// Makes `count` items in parts on all cores, and passes the parts to `take` in order. At most two rounds of parts are in memory:
/// one is consumed while the next is made. A part is made in place of an earlier one, which it replaces, so that buffers are used again.
///
/// # Errors
/// Those of `make` and `take`; the first in order ends it.
pub(super) fn in_order<T: Default + Send>(
    count: usize,
    make: impl Fn(Range<usize>, &mut T) -> Result<()> + Sync,
    mut take: impl FnMut(&mut T) -> Result<()> + Send,
) -> Result<()> {
    let parts = count.div_ceil(AT_ONCE);
    let round = 8 * rayon::current_num_threads();
    let make_round = |from: usize, places: &mut Vec<T>| -> Vec<Result<()>> {
        places.resize_with(round.min(parts.saturating_sub(from)), T::default);
        let numbered = places.par_iter_mut().enumerate().map(|(place, part)| (from + place, part));
        numbered.map(|(index, part)| make(index * AT_ONCE..count.min((index + 1) * AT_ONCE), part)).collect()
    };
    let (mut waiting, mut free) = (Vec::new(), Vec::new());
    let (mut made, mut next) = (make_round(0, &mut waiting), round);
    while !waiting.is_empty() {
        let (taken, following) = rayon::join(
            || waiting.iter_mut().zip(made).try_for_each(|(part, made)| made.and_then(|()| take(part))),
            || make_round(next, &mut free),
        );
        taken?;
        std::mem::swap(&mut waiting, &mut free);
        (made, next) = (following, next + round);
    }
    Ok(())
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
            let all = in_order(count, in_place, |part| {
                taken.extend(part.by_ref());
                Ok(())
            });
            assert!(all.is_ok());
            assert_eq!(taken, (0..count).collect::<Vec<_>>());
        }
        let mut seen = 0;
        let stopped = in_order(100 * AT_ONCE, in_place, |part| {
            seen = part.end;
            if part.start == 3 * AT_ONCE { Err(Error::new(ErrorKind::Internal, "", "full")) } else { Ok(()) }
        });
        assert!(stopped.is_err());
        assert_eq!(seen, 4 * AT_ONCE);
    }
}
