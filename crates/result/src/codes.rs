//! Codes of findings.
