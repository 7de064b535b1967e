//! Parts of a document that are made on all cores and consumed in their order.

use std::ops::Range;

use rayon::prelude::*;

use crate::error::Result;

/// Number of items in a part: enough to be worth handing to a thread, few enough to be held in memory for every core.
const AT_ONCE: usize = 16;

/// Makes `count` items in parts on all cores, and passes the parts to `take` in order. At most two rounds of parts are in memory:
/// one is consumed while the next is made.
///
/// # Errors
/// Those of `take`, which ends it.
pub(super) fn in_order<T: Send>(
    count: usize,
    make: impl Fn(Range<usize>) -> T + Sync,
    mut take: impl FnMut(T) -> Result<()> + Send,
) -> Result<()> {
    let parts = count.div_ceil(AT_ONCE);
    let round = 8 * rayon::current_num_threads();
    let part = |index: usize| make(index * AT_ONCE..count.min((index + 1) * AT_ONCE));
    let made = |from: usize| -> Vec<T> { (from..parts.min(from + round)).into_par_iter().map(part).collect() };
    let (mut waiting, mut next) = (made(0), round);
    while !waiting.is_empty() {
        let (taken, following) = rayon::join(|| waiting.into_iter().try_for_each(&mut take), || made(next));
        taken?;
        (waiting, next) = (following, next + round);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, ErrorKind};

    #[test]
    fn parts_come_in_order_and_an_error_ends_them() {
        for count in [0, 1, AT_ONCE, AT_ONCE + 1, 50 * AT_ONCE + 3] {
            let mut taken = Vec::new();
            let all = in_order(
                count,
                |part| part,
                |part| {
                    taken.extend(part);
                    Ok(())
                },
            );
            assert!(all.is_ok());
            assert_eq!(taken, (0..count).collect::<Vec<_>>());
        }
        let mut seen = 0;
        let stopped = in_order(
            100 * AT_ONCE,
            |part| part,
            |part| {
                seen = part.end;
                if part.start == 3 * AT_ONCE { Err(Error::new(ErrorKind::Internal, "", "full")) } else { Ok(()) }
            },
        );
        assert!(stopped.is_err());
        assert_eq!(seen, 4 * AT_ONCE);
    }
}
