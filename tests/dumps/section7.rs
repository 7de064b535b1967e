//! Minimal cases with the cells that msprobe 26.2.0 wrote (`docs/formats/msprobe-tables.md`).

mod files;
mod metrics;
mod pairing;
mod statistics;

use crate::dumps::build::Compared;

/// The six cells of tensor mode.
const SIX: [&str; 6] =
    ["Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr", "One Thousandth Err Ratio", "Five Thousandths Err Ratio"];

const NOT_FINITE: &str = "error: There is nan/inf/-inf in the maximum or minimum value of NPU.";
const ONE_THOUSANDTH: &str = "error: The input/parameters of One Thousandth Err Ratio > 0.9 while the output < 0.6.";
const NORM_OF_OUTPUT: &str = "error: The NormRelativeErr of output is greater than 0.5.";
const REQUIRES_GRAD: &str = "error: The Required_Grad of NPU and Bench are inconsistent";
const SCALAR: &str = "error: The scalar parameters of NPU and Bench are inconsistent.";
const DTYPE: &str = "error: The dtype of NPU and Bench are inconsistent.";
const SHAPE: &str = "error: The shape of NPU and Bench are inconsistent.";
const COSINE: &str = "warning: The input/parameters of Cosine > 0.9, and input/parameters - output > 0.1";
const NORM_GROWS: &str = "warning: The norm relative error of output is 10 times that of input.";
const CHECKSUM: &str = "error: The CRC-32 value of NPU differs from that of the bench.";
const NO_CHECKSUM: &str = "warning: The parameter of NPU does not match the bench.";

impl Compared {
    /// Demands the verdict of a row: its messages, worst level first.
    fn verdict(&self, row: usize, messages: &[&str]) {
        let level = if messages.iter().any(|text| text.starts_with("error")) {
            "error"
        } else if messages.is_empty() {
            "pass"
        } else {
            "warning"
        };
        let texts: Vec<String> = messages.iter().map(|text| format!("\"{text}\"")).collect();
        let name = self.cell(row, "NPU Name");
        assert_eq!(self.cell(row, "Err_message"), format!("[{}]", texts.join(", ")), "{name}");
        assert_eq!(self.cell(row, "Result"), level, "{name}");
    }
}
