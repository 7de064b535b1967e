//! Files that people give by mistake in place of a run's artifacts, recognised by their content.

use std::path::Path;

/// Folder in which msprobe saves the tensors of a dump, beside the records that name them.
pub(crate) const TENSORS: &str = "dump_tensor_data";

/// Reason for not reading a table that a comparison of msprobe wrote.
pub(crate) const COMPARE_TABLE: &str = "a table of msprobe's compare, which holds its answers and no values of a run";
/// Reason for not reading an archive of RAR or 7-Zip.
pub(crate) const OTHER_PACKER: &str = "an archive of RAR or 7-Zip, which is not unpacked";
/// Reason for not reading a script that starts a training.
pub(crate) const LAUNCH_SCRIPT: &str = "a script that starts a training, which holds settings and no values";

/// Columns of msprobe's table of a comparison.
const TABLE_HEAD: [&[u8]; 2] = [b"NPU Name,", b"Bench Name,"];
/// First bytes of RAR (versions 4 and 5) and 7-Zip.
const PACKERS: [&[u8]; 2] = [b"Rar!\x1a\x07", b"7z\xbc\xaf\x27\x1c"];
/// Programs that start a training.
const LAUNCHERS: [&[u8]; 7] =
    [b"torchrun", b"python ", b"python3 ", b"deepspeed", b"msrun", b"accelerate launch", b"mpirun"];

/// Reason for not reading a file that begins with `head`; `None` where it is none of the files that people give by mistake.
pub(super) fn mistaken_file_reason(path: &str, head: &[u8]) -> Option<&'static str> {
    let has = |part: &[u8]| memchr::memmem::find(head, part).is_some();
    if PACKERS.iter().any(|magic| head.starts_with(magic)) {
        return Some(OTHER_PACKER);
    }
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if TABLE_HEAD.iter().all(|column| memchr::memmem::find(line, column).is_some()) {
        return Some(COMPARE_TABLE);
    }
    let is_shell = Path::new(path).extension().is_some_and(|ending| ending == "sh" || ending == "bash");
    (is_shell && LAUNCHERS.iter().any(|word| has(word))).then_some(LAUNCH_SCRIPT)
}

/// Whether `location` is a folder of dumped tensors, without the records that name them.
pub(super) fn is_tensor_folder(location: &str) -> bool {
    location.trim_end_matches('/').rsplit('/').next() == Some(TENSORS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_given_by_mistake_are_told_by_their_content() {
        for (path, head, reason) in [
            ("a.rar", b"Rar!\x1a\x07\x01\x00".as_slice(), Some(OTHER_PACKER)),
            ("a", b"7z\xbc\xaf\x27\x1c\x00\x04", Some(OTHER_PACKER)),
            ("a.csv", b"NPU Name,Bench Name,NPU Dtype,Bench Dtype\n", Some(COMPARE_TABLE)),
            ("a.csv", b"step,loss\nNPU Name,Bench Name,\n", None),
            ("train.sh", b"#!/bin/bash\ntorchrun train.py\n", Some(LAUNCH_SCRIPT)),
            ("train.log", b"torchrun train.py\n", None),
        ] {
            assert_eq!(mistaken_file_reason(path, head), reason, "{path}");
        }
    }
}
