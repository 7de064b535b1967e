//! Stage 6, *diagnose*: from findings to likely causes, one file per cause.
