//! One value of a series, as input of statistics.

/// A finite value at its time.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrendSample {
    /// Days since the first run of the window.
    pub(super) day: f64,
    pub(super) value: f64,
}
