//! Compare tables of ptdbg_ascend, msprobe's ancestor (`dump-compare.md` section 2.2).

use super::{Measured, Mode, Pair, Place, RowPair};
use crate::msprobe::table::Table;

pub(super) fn pair(_pair: &Pair<'_>) -> Vec<RowPair> {
    Vec::new()
}

pub(super) fn table(
    _pair: &Pair<'_>,
    _mode: Mode,
    _measured: &dyn Fn(Place, Place) -> Measured,
    _name: String,
) -> Option<Table> {
    None
}
