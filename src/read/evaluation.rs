//! Results of evaluation harnesses: scores per task, and the model's answer to each question.
//!
//! docs/formats/evaluation.md has the layouts. A file is recognised by its content; the files of one run of a harness belong
//! together by their folder and time.

mod ais_bench;
mod answer;
mod assemble;
pub(super) mod cursor;
mod damage;
mod digest;
mod document;
mod eval_scope;
mod generation;
mod kind;
pub(super) mod lines;
mod lm_eval;
mod names;
mod place;
mod question;
mod rollout;
mod room;
mod run;
mod samples;
mod setting;
mod texts;
mod tokens;
mod unread;

pub use answer::{Answer, AnswerFile};
pub use assemble::{EvaluationFile, Evaluations, read};
pub(crate) use assemble::{measure_answers, read_rollouts};
pub use damage::EvaluationDamage;
pub use kind::{EvaluationFileKind, recognise};
pub use question::{EvaluationSample, SampleTexts, SampleValue, Samples, TextPlace};
pub use rollout::{RolloutRecord, RolloutStep, Rollouts};
pub use run::{EvaluationRun, EvaluationTask, Harness, Score, ScoreName};
pub use texts::{OpenFiles, sample_texts};
pub use tokens::{AnswerSettings, Generation, Generations, Token};
