//! Checksum cells of values that msprobe does not checksum itself (`docs/formats/msprobe-tables.md`,
//! Cells).

use crate::msprobe::python;
use crate::read::json::Json;

/// CRC-32 of the text Python prints for a value, as eight hexadecimal digits.
pub(super) fn of_value(value: &Json) -> String {
    of_text(&python::str(value))
}

/// CRC-32 of a text, as eight hexadecimal digits.
pub(super) fn of_text(text: &str) -> String {
    format!("{:08x}", crc32fast::hash(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_the_checksum_of_their_digits() {
        for (value, hash) in [(0, "f4dbdf21"), (1, "83dcefb7"), (3, "6dd28e9b"), (4, "f3b61b38")] {
            assert_eq!(of_value(&Json::Int(value)), hash);
        }
        assert_eq!(of_text(""), "00000000");
    }
}
