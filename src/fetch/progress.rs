//! Telling a person how far long work is.

/// Tells a person how far long work is.
pub trait Progress: Send + Sync {
    /// A stage begins; `total` is 0 where it is not known.
    fn begin(&self, stage: &str, total: u64);
    /// That much more of it is done.
    fn advance(&self, amount: u64);
}

/// Says nothing.
#[derive(Clone, Copy, Debug)]
pub struct Quiet;

impl Progress for Quiet {
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
}
