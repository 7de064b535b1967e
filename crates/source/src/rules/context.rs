//! Facts about a whole tree that rules depend on, gathered file by file.

use std::collections::BTreeSet;

use super::file::File;
use super::flags::Flags;
use crate::read::Kind;

/// Facts about a tree.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Facts.
    pub flags: Flags,
    /// Names of packages and modules at its root.
    pub packages: BTreeSet<String>,
}

/// Facts that one file states for its tree.
pub(super) fn flags_of(file: &File<'_>) -> Flags {
    let mut flags = file.npu_flags;
    if file.has_main_guard() {
        flags = flags.with(Flags::SCRIPT);
    }
    if says_seed(&file.text) {
        flags = flags.with(Flags::SEEDED);
    }
    for id in file.tree.ids() {
        match file.tree.kind(id) {
            Kind::Import(names) => {
                for name in names {
                    flags = flags.with(of_import(&name.full));
                }
            }
            Kind::Attribute { value, name } if &**name == "allow_hf32" => {
                flags = match file.tree.last_name(*value) {
                    Some("matmul") => flags.with(Flags::MATMUL_HF32),
                    Some("conv") => flags.with(Flags::CONV_HF32),
                    _ => flags,
                };
            }
            Kind::Call { function, arguments } => {
                let is_named = arguments.iter().any(|argument| argument.name.as_deref() == Some("mode"));
                match file.tree.last_name(*function) {
                    Some("use_deterministic_algorithms") => flags = flags.with(Flags::DETERMINISTIC),
                    Some("seed_all") if is_named => flags = flags.with(Flags::DETERMINISTIC),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    flags
}

/// Whether a text speaks of seeds anywhere. A comment counts, too: what is not sure to be missing is not told.
fn says_seed(text: &str) -> bool {
    ["seed", "Seed", "SEED", "deterministic", "TrainingArguments"]
        .iter()
        .any(|word| memchr::memmem::find(text.as_bytes(), word.as_bytes()).is_some())
}

fn of_import(full: &str) -> Flags {
    let is_in = |package: &str| full.strip_prefix(package).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let mut flags = Flags::default();
    if is_in("torch_npu.contrib.transfer_to_npu") || is_in("mindspeed.megatron_adaptor") || is_in("mindspeed_llm") {
        flags = flags.with(Flags::TRANSFER).with(Flags::NPU_PROJECT);
    }
    if is_in("torch_npu") {
        flags = flags.with(Flags::NPU_PROJECT);
    }
    if full.starts_with("mindspeed") {
        flags = flags.with(Flags::NPU_PROJECT).with(Flags::MINDSPEED);
    }
    flags
}
