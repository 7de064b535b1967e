//! Progress of long work, as shown to a person.

/// Shows the progress of long work to a person.
pub trait Progress: Send + Sync {
    /// Begins a stage; `total` is 0 if it is not known.
    fn begin(&self, stage: &str, total: u64);
    /// Adds `amount` to the finished part of the stage.
    fn advance(&self, amount: u64);
}

/// Shows nothing.
#[derive(Clone, Copy, Debug)]
pub struct Quiet;

impl Progress for Quiet {
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
}
