//! Tools other than msprobe whose records are read as a dump (`docs/other-dumps.md`).

/// A tool that recorded a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    /// The dumper of sglang and miles: one file per tensor, named by `key=value` pairs.
    Dumper,
    /// The debug trees of transformers.
    Trace,
    /// The logs of nvdlfw-inspect.
    Inspect,
    /// `statistic.csv` of Ascend Transformer Boost.
    Atb,
    /// Files of MindSpore's `save`.
    Saved,
    /// Any other tool, whose tensors are named by a path of modules or start with a number.
    Unknown,
}

impl Tool {
    /// Name of the tool in results and documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dumper => "sglang dumper",
            Self::Trace => "transformers debug tree",
            Self::Inspect => "nvdlfw-inspect",
            Self::Atb => "ATB",
            Self::Saved => "MindSpore save",
            Self::Unknown => "unknown tool",
        }
    }
}
