//! `source-not-read` and `ignore-without-reason`: files and comments that cannot be judged.

use super::rule::SourceRule;

/// A file that is no Python that can be read.
pub(super) const NOT_READ: SourceRule = SourceRule::of_reading("source-not-read");
/// A comment that accepts a finding without a reason.
pub(super) const WITHOUT_REASON: SourceRule = SourceRule::of_reading("ignore-without-reason");
