//! Dumps with known truth: every cell of the tables the real tool wrote.

mod parity;
mod support;
