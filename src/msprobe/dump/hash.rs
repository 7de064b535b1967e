//! Checksum cells of values that msprobe does not checksum itself (`docs/formats/msprobe-tables.md`,
//! Cells).

use std::borrow::Cow;

use crate::msprobe::python;
use crate::read::json::Json;

/// CRC-32 of no text.
const NONE: &str = "00000000";

/// CRC-32 of the text Python prints for a value, as eight hexadecimal digits.
pub(super) fn value_checksum(value: &Json) -> Cow<'static, str> {
    text_checksum(&python::str(value))
}

/// A recorded checksum as msprobe shows it. The number that xor dumps record in its place is printed as Python does; one that
/// Python takes for false (zero) counts as none.
pub(super) fn checksum_text(checksum: Option<&str>) -> Cow<'_, str> {
    let Some(text) = checksum else { return NONE.into() };
    let is_checksum = text.starts_with("0x") || text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match text.parse::<f64>() {
        _ if is_checksum => text.into(),
        Ok(0.0) => NONE.into(),
        Ok(number) if text.contains(['.', 'e', 'n', 'N', 'i']) => python::float(number).into(),
        Err(_) if text == "False" => NONE.into(),
        _ => text.into(),
    }
}

/// CRC-32 of a text, as eight hexadecimal digits.
pub(super) fn text_checksum(text: &str) -> Cow<'static, str> {
    format!("{:08x}", crc32fast::hash(text.as_bytes())).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_xor_dumps_are_shown_as_python_prints_them() {
        let cells = [("22.819101333618164", "22.819101333618164"), ("1e-7", "1e-07"), ("7", "7"), ("0.0", "00000000")];
        for (recorded, shown) in cells {
            assert_eq!(checksum_text(Some(recorded)), shown);
        }
        assert_eq!(checksum_text(Some("1e234567")), "1e234567", "a checksum");
        assert_eq!(checksum_text(None), "00000000");
    }

    #[test]
    fn whole_numbers_have_the_checksum_of_their_digits() {
        for (value, hash) in [(0, "f4dbdf21"), (1, "83dcefb7"), (3, "6dd28e9b"), (4, "f3b61b38")] {
            assert_eq!(value_checksum(&Json::Int(value)), hash);
        }
        assert_eq!(text_checksum(""), NONE);
    }
}
