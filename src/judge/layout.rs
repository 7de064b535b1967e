//! Parallel layouts of both sides: whether they are known, and whether what is there fits them.

use super::rule::rules;

rules! {
    CheckId::Dump;

    /// Both sides cut the model otherwise, and are put together before they are compared.
    DIFFERS = "layout-differs", Info;
    /// A layout that nothing declares was found in what the run recorded.
    INFERRED = "layout-inferred", Info;
    /// The layouts of both sides differ, and nothing tells what they are.
    UNCERTAIN = "layout-uncertain", Incomplete;
    /// Ranks that the layout needs are not there.
    RANKS_MISSING = "layout-ranks-missing", Incomplete;
    /// What was recorded is of another layout than the one that is declared.
    CONTRADICTED = "layout-contradicted", Incomplete;
    /// Values of ranks that hold parts cannot be put together.
    NOT_MERGEABLE = "layout-not-mergeable", Incomplete;
}
