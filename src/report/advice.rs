//! Commands that documents tell people to run about a result: only those that help, with the paths of this result.

use minijinja::{Value, context};

use super::escape::{Target, cleaned, html};
use crate::diagnose::runnable::runnable;
use crate::result::GateResult;
use crate::result::advice::{Advice, DEFAULT_FILE};
use crate::result::unit::Culprit;
use crate::verdict::CheckId;

/// Reason of a next dump that takes a whole step.
const STEP: &str = "curve";

/// Commands about a result; `None` where one would not help.
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
    /// Those of a result that nobody has yet: explanations of codes name all of them.
    fn default() -> Self {
        let about = |command| Some(Advice::new([command, DEFAULT_FILE]));
        Self { dump_step: about("next-dump"), dump_operation: about("next-dump"), reproduce: about("reproduce") }
    }
}

impl Commands {
    /// Those that help with `result`.
    pub fn of(result: &GateResult) -> Self {
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
    pub(super) fn shown(&self, target: Target) -> Value {
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

/// A command as code: whole, since half of one runs nothing. A backtick cannot stand in a path of it, which a shell quotes.
fn code(advice: &Advice, target: Target) -> Value {
    let text = cleaned(&advice.to_string());
    Value::from_safe_string(match target {
        Target::Html => format!("<code>{}</code>", html(&text)),
        Target::Plain | Target::Markdown => {
            let fence = if text.contains('`') { "``" } else { "`" };
            format!("{fence}{text}{fence}")
        }
    })
}

/// Whether `reproduce` writes a script that runs the culprit alone: of a dump, where it is called as recorded there.
pub fn can_run_alone(culprit: &Culprit) -> bool {
    // Put together from ranks, it is a call of none of them.
    culprit.check == CheckId::Dump
        && culprit.layout.is_none()
        && runnable(&culprit.op).is_ok_and(|found| !found.is_random())
}
