//! Tests of judging a candidate alone.
