//! Work that a file makes: time and memory grow with its size.
