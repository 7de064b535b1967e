//! Training curves: values per step, from any file that a trainer writes.
//!
//! Each format has a module of its own. A format is recognised by content alone. Values differ in their meaning:
//! trainers that log every k steps write the mean of the loss over those k steps, while a golden file holds the
//! step's own value.

pub mod log;
pub mod series;

mod batch;
mod beside;
mod collector;
mod database;
mod declared;
mod expression;
mod file;
mod format;
mod frames;
mod in_order;
pub(super) mod lines;
mod megatron;
mod mindspeed;
pub mod mlflow;
mod nested;
mod norms;
mod numbering;
mod page_json;
mod pattern;
mod points;
mod records;
pub mod results;
mod shape;
mod step_loss;
mod steps_json;
pub mod stored;
mod swanlab;
mod table;
mod tensorboard;
mod text;
mod told;
mod trainer_state;
pub mod updates;
mod wandb;

use std::sync::Arc;

use crate::error::Result;
use crate::fetch::{ByteSource, Room, Source};
use crate::read::ending;
use pattern::LogPattern;

pub use declared::DeclaredSettings;
pub use file::{CurveFile, CurveNote};
pub use format::{CurveFormat, LossMeaning};
pub use norms::{LayerNorms, ParameterNorms};
pub use text::{DecodedText, decode_text};
pub use told::LogFacts;

/// The format of a curve file, from its first bytes (at most 64 KiB of `source`, in `head`).
///
/// A text whose beginning does not show its format is searched further, because a training log may begin with pages of
/// configuration.
pub fn recognise(head: &[u8], source: &dyn ByteSource) -> Option<CurveFormat> {
    if tensorboard::recognise(head) {
        return Some(CurveFormat::TensorBoard);
    }
    if wandb::recognise(head) {
        return Some(CurveFormat::Wandb);
    }
    if swanlab::recognise(head) {
        return Some(CurveFormat::SwanLab);
    }
    if let Some(format) = database::recognise(head, source) {
        return Some(format);
    }
    if has_nul_blocks(head) {
        return is_log(source).then_some(CurveFormat::Log);
    }
    let text = text_of(head)?;
    match text.as_bytes().first()? {
        b'{' | b'[' => shape::recognise(text)
            .or_else(|| nested::recognise(text, source).then_some(CurveFormat::JsonNested))
            .or_else(|| is_log(source).then_some(CurveFormat::Log)),
        _ if mlflow::recognise(text) => Some(CurveFormat::Mlflow),
        _ if step_loss::recognise(text) => Some(CurveFormat::StepLoss),
        _ if table::recognise(text) => Some(CurveFormat::Table),
        _ => is_log(source).then_some(CurveFormat::Log),
    }
}

/// Whether a text is a training log, or shows at its end how a run failed.
fn is_log(source: &dyn ByteSource) -> bool {
    log::recognise(source) || ending::recognise(source)
}

/// The format of a log that the user's pattern reads; `None` for a text without a matching line.
pub(crate) fn recognise_pattern(head: &[u8], source: &dyn ByteSource, pattern: &LogPattern) -> Option<CurveFormat> {
    text_of(head)?;
    log::matches_pattern(source, pattern).then(|| CurveFormat::Pattern(pattern.clone()))
}

/// Whether a text has blocks of NUL bytes in it, as a power failure leaves them.
fn has_nul_blocks(head: &[u8]) -> bool {
    let blocks = head.chunk_by(|a, b| (*a == 0) == (*b == 0)).filter(|block| block.first() == Some(&0));
    let (mut count, mut shortest) = (0, usize::MAX);
    for block in blocks {
        (count, shortest) = (count + 1, shortest.min(block.len()));
    }
    let is_control = |byte: &u8| matches!(byte, 1..=8 | 14..=26 | 28..=31);
    let text: Vec<u8> = head.iter().copied().filter(|byte| *byte != 0).collect();
    (1..=8).contains(&count)
        && shortest >= 8
        && !text.iter().any(is_control)
        && text_of(&text).is_some_and(|text| !text.is_empty())
}

/// `head` as text from its first character that is not white space; `None` for binary data.
fn text_of(head: &[u8]) -> Option<&str> {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // The head may end inside a character; anything invalid before that is not text.
        Err(error) if error.error_len().is_none() => std::str::from_utf8(head.get(..error.valid_up_to())?).ok()?,
        Err(_) if !head.contains(&0) => return Some(""),
        Err(_) => return None,
    };
    if text.contains('\0') {
        return None;
    }
    Some(text.trim_start_matches('\u{feff}').trim_start())
}

/// Reads a curve file: one entry per run in it, whose points fill `room`.
pub fn read(source: Source, format: CurveFormat, room: &Arc<Room>) -> Result<Vec<CurveFile>> {
    let bytes = source.as_ref();
    let file = match &format {
        CurveFormat::Trackio | CurveFormat::MlflowDatabase => return database::read(bytes, room),
        CurveFormat::TrainerState => trainer_state::read(bytes, room),
        CurveFormat::JsonLines => records::read_lines(bytes, room),
        CurveFormat::JsonRecords => records::read_array(bytes, room),
        CurveFormat::StepsJson => steps_json::read(bytes, room),
        CurveFormat::JsonNested => nested::read(bytes, room),
        CurveFormat::PageJson => page_json::read(bytes, room),
        CurveFormat::StepLoss => step_loss::read(bytes),
        CurveFormat::Megatron => megatron::read(bytes, room),
        CurveFormat::MindSpeed => mindspeed::read(bytes),
        CurveFormat::TensorBoard => tensorboard::read(bytes, room),
        CurveFormat::Wandb => wandb::read(bytes, room),
        CurveFormat::SwanLab => swanlab::read(bytes, room),
        CurveFormat::Mlflow => mlflow::read(bytes, room),
        CurveFormat::Table => table::read(bytes, room),
        CurveFormat::Log => log::read(bytes, room),
        CurveFormat::Pattern(pattern) => log::read_with_pattern(bytes, room, pattern),
    };
    Ok(vec![file?])
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::fetch::MemorySource;

    fn recognised(text: &str) -> Option<&'static str> {
        let source = MemorySource::new("file", text.as_bytes().to_vec());
        recognise(text.as_bytes(), &source).map(|format| format.name())
    }

    #[test]
    fn formats_are_told_by_content() {
        for (text, format) in [
            ("{\n \"log_history\": [\n", "HF trainer_state.json"),
            ("{\"global_step\": 9, \"log_history\": [{\"step\": 1, \"loss\": 2}]}", "HF trainer_state.json"),
            ("{\"step\": 1, \"loss\": 2}\n{\"step\": 2, \"loss\": 1}\n", "JSON lines"),
            ("{\"loss\": 2}\n{\"loss\": 1}\n", "JSON lines"),
            ("{\"current_steps\": 5, \"total_steps\": 9, \"loss\": 2}\n", "JSON lines"),
            ("{\n \"step\": 1,\n \"loss\": 2\n}", "JSON lines"),
            ("[{\"step\": 1, \"loss\": 2}, {\"step\"", "JSON records"),
            ("1 8.04\n2 7.7\n", "torchtitan loss list"),
            ("{\"lm loss\": {\"start_step\": 1, \"values\": {\"1\": 2", "Megatron golden JSON"),
            ("{\"lm loss\": [\"nan\", 2.5", "MindSpeed baseline JSON"),
            ("\u{feff}step,loss\r\n1,2.5\r\n", "CSV table"),
            (" iteration        1/    5000 | lm loss: 1.2E+00 |\n", "training log"),
        ] {
            assert_eq!(recognised(text), Some(format), "{text}");
        }
        for text in [
            "",
            "hello",
            "{}",
            "[]",
            "[1, 2]",
            "{\"task\": \"statistics\", \"data\": {\"a\": {\"input_args\": [1]}}}",
            "{\"loss\": [\"a\"]}",
            "{\"precision_gate_noise\": 1, \"metrics\": {\"loss\": {\"head\": 1}}}",
            "{\"learning_rate\": 0.1, \"train_loss\": 2.0, \"train_runtime\": 1}",
            "a,b\n1,2\n",
        ] {
            assert_eq!(recognised(text), None, "{text}");
        }
    }

    /// Text that looks like what trainers write, with damage in it.
    fn nearly() -> impl proptest::strategy::Strategy<Value = String> {
        let pieces = [
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\n",
            "\"step\"",
            "\"loss\"",
            "\"values\"",
            "\"log_history\"",
            "1",
            "2.5",
            "nan",
            "\"nan\"",
            "step,loss",
            " iteration 1/ 9 | lm loss: ",
            "{'loss': ",
            "é",
            "\0",
        ];
        use proptest::strategy::Strategy;
        proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..24).prop_map(|parts| parts.concat())
    }

    proptest::proptest! {
        #[test]
        fn whatever_a_file_holds_readers_answer(text in nearly()) {
            let formats = [
                CurveFormat::TrainerState, CurveFormat::JsonLines, CurveFormat::JsonRecords, CurveFormat::StepsJson, CurveFormat::StepLoss, CurveFormat::Megatron,
                CurveFormat::MindSpeed, CurveFormat::TensorBoard, CurveFormat::Wandb, CurveFormat::SwanLab, CurveFormat::Trackio, CurveFormat::Mlflow, CurveFormat::Table, CurveFormat::Log,
            ];
            let _recognised = recognised(&text);
            for format in formats {
                let source: Source = Arc::new(MemorySource::new("file", text.as_bytes().to_vec()));
                let _outcome = read(source, format, &Room::unlimited());
            }
        }
    }
}
