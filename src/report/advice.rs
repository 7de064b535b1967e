//! Commands that documents advise for a result: only those that help, with the paths of this result filled in.

use minijinja::{Value, context};

use super::escape::{TextTarget, cleaned, html};
use crate::diagnose::runnable::runnable;
use crate::result::GateResult;
use crate::result::advice::{Advice, DEFAULT_FILE};
use crate::result::unit::Culprit;
use crate::verdict::CheckId;

/// Reason code of a next dump that covers a whole step.
const STEP: &str = "curve";

/// Commands about a result; a command is `None` if it would not help.
#[derive(Debug)]
pub struct Commands {
    /// Writes msprobe's configuration for a whole step.
    pub dump_step: Option<Advice>,
    /// Writes msprobe's configuration for the operations around the culprit.
    pub dump_operation: Option<Advice>,
    /// Writes the script that runs the culprit alone.
    pub reproduce: Option<Advice>,
}

impl Default for Commands {
    /// All commands, about a result with the default file name, for explanations of codes, which have no result.
    fn default() -> Self {
        let about = |command| Some(Advice::new([command, DEFAULT_FILE]));
        Self { dump_step: about("next-dump"), dump_operation: about("next-dump"), reproduce: about("reproduce") }
    }
}

impl Commands {
    /// The commands that help with `result`.
    pub fn from_result(result: &GateResult) -> Self {
        let file = if result.file.is_empty() { DEFAULT_FILE } else { &result.file };
        let next = result.next_dump.as_ref().map(|next| (next.reason == STEP, Advice::new(["next-dump", file])));
        let (dump_step, dump_operation) = match next {
            Some((true, advice)) => (Some(advice), None),
            Some((false, advice)) => (None, Some(advice)),
            None => (None, None),
        };
        let culprit = result.culprit.as_ref().filter(|culprit| can_run_alone(culprit));
        Self { dump_step, dump_operation, reproduce: culprit.map(|_| Advice::new(["reproduce", file])) }
    }

    /// The commands as templates see them, each as code of `target` where it stands in a sentence.
    pub(super) fn template_value(&self, target: TextTarget) -> Value {
        let shown = |advice: &Option<Advice>| advice.as_ref().map_or_else(|| Value::from(""), |one| code(one, target));
        let next_dump = self.dump_step.as_ref().or(self.dump_operation.as_ref()).cloned();
        context! {
            next_dump => shown(&next_dump),
            dump_step => shown(&self.dump_step),
            dump_operation => shown(&self.dump_operation),
            reproduce => shown(&self.reproduce),
        }
    }
}

/// A command as code. It is never shortened, since a part of a command does not run. A path in it is quoted for the shell, so
/// that it holds no backtick.
fn code(advice: &Advice, target: TextTarget) -> Value {
    let text = cleaned(&advice.to_string());
    Value::from_safe_string(match target {
        TextTarget::Html => format!("<code>{}</code>", html(&text)),
        TextTarget::Plain | TextTarget::Markdown => {
            let fence = if text.contains('`') { "``" } else { "`" };
            format!("{fence}{text}{fence}")
        }
    })
}

/// Whether `reproduce` can write a script that runs the culprit alone: the culprit comes from a dump and is called as recorded.
pub(crate) fn can_run_alone(culprit: &Culprit) -> bool {
    // A culprit that was put together from several ranks is not a call of any one rank.
    culprit.check == CheckId::Dump
        && culprit.layout.is_none()
        && runnable(&culprit.op).is_ok_and(|found| !found.is_random())
}
