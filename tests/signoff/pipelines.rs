//! Pipelines that `init` writes.
