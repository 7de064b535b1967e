//! SHA-256 digests, as forges, manifests and locations write them.

use std::fmt;
use std::io::{self, Read};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest; written `sha256:<64 hexadecimal digits>`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Reads `sha256:…` or the bare digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("sha256:").unwrap_or(text);
        if digits.len() != 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of all that `reader` gives.
    pub(crate) fn of_reader(reader: &mut dyn Read) -> io::Result<Self> {
        /// Bytes that are read at once: enough that system calls cost little.
        const BLOCK: usize = 1 << 20;
        let mut hash = Sha256::new();
        let mut block = vec![0; BLOCK];
        loop {
            match reader.read(&mut block)? {
                0 => return Ok(Self(hash.finalize().into())),
                len => hash.update(block.get(..len).unwrap_or_default()),
            }
        }
    }

    /// The 64 hexadecimal digits alone.
    pub fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text)
            .ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not a digest: expected sha256:<64 digits>")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_read_what_they_write() {
        let digest = Digest::of(b"abc");
        assert_eq!(digest.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
        assert_eq!(Digest::parse(&digest.hex().to_uppercase()), Some(digest));
        assert_eq!(Digest::of_reader(&mut &b"abc"[..]).expect("readable"), digest);
        for wrong in ["", "sha256:12", "sha512:00", &"é".repeat(32)] {
            assert_eq!(Digest::parse(wrong), None, "{wrong}");
        }
    }
}
