//! The forges that `init` writes pipelines for.

use clap::ValueEnum;

/// A forge that `init` writes pipelines for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PipelineForge {
    /// GitHub Actions
    Github,
    /// GitLab CI
    Gitlab,
}
