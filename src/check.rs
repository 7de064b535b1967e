//! The table of checks: one entry per check, from which every stage takes what it needs.
//!
//! An entry gives a check's name and the command that runs it alone; results know it as a [`CheckId`]. Everything else
//! follows from its name: each stage that has to know all checks applies `each_check!` to the entries and expects a
//! module of that name with a known item in it (`judge/<name>.rs` with `RULES`, `gate/<name>.rs` with `CHECK`,
//! `templates/messages/<language>/<name>.yaml`), so the compiler names what a new entry lacks. CONTRIBUTING.md, "Adding
//! a check", lists the files in order.

pub use precision_gate_result::check::CheckId;

use crate::nearest::did_you_mean;

/// Applies the macro of a stage to every check, in the order of reports.
///
/// An entry reads `name = Id by [Command];`: the name of its modules and in documents, its [`CheckId`], and the
/// [`Command`] that runs it without the others, where there is one.
macro_rules! each_check {
    ($stage:ident) => {
        $stage! {
            /// Configuration packs.
            config = Config by [ConfigCheck];
            /// Training curves.
            loss = Loss by [Loss];
            /// Dumps.
            dump = Dump by [Compare];
            /// Checkpoints.
            checkpoint = Checkpoint by [Compare];
            /// Arrays of no other check.
            arrays = Arrays by [Compare];
            /// Training monitors.
            monitor = Monitor by [];
            /// Log-probabilities by token.
            tokens = Tokens by [];
            /// Evaluations.
            evaluation = Evaluation by [];
            /// Operator tests.
            operators = Operators by [];
            /// Profiles of training steps.
            performance = Performance by [];
            /// Python source.
            source = Source by [Source];
        }
    };
}
pub(crate) use each_check;

/// A command that runs some of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// `precision-gate config-check`
    ConfigCheck,
    /// `precision-gate compare`
    Compare,
    /// `precision-gate loss`
    Loss,
    /// `precision-gate source`
    Source,
}

impl Command {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Compare, Self::ConfigCheck, Self::Loss, Self::Source];

    /// The name as it is typed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ConfigCheck => "config-check",
            Self::Compare => "compare",
            Self::Loss => "loss",
            Self::Source => "source",
        }
    }

    /// The checks that the command runs, in the order of reports.
    pub fn checks(self) -> Vec<CheckId> {
        CheckId::CHECKS.iter().copied().filter(|check| commands(*check).contains(&self)).collect()
    }
}

/// Generates from the table the commands that run a check without all the others.
macro_rules! commands {
    ($($(#[$about:meta])+ $name:ident = $id:ident by [$($command:ident)?];)+) => {
        /// Commands that run it without all the others.
        fn commands(check: CheckId) -> &'static [Command] {
            match check {
                $(CheckId::$id => &[$(Command::$command)?],)+
                _ => &[],
            }
        }

        /// Checks of the table with their names there.
        #[cfg(test)]
        const TABLE: &[(CheckId, &str)] = &[$((CheckId::$id, stringify!($name))),+];
    };
}

each_check!(commands);

/// The check with this name in a run.
///
/// # Errors
/// A message with the names there are, and the one that was probably meant.
pub(crate) fn check_named(name: &str) -> Result<CheckId, String> {
    let known = || CheckId::CHECKS.iter().copied();
    if let Some(check) = known().find(|check| check.as_str() == name) {
        return Ok(check);
    }
    let names: Vec<&str> = known().map(CheckId::as_str).collect();
    let meant = did_you_mean(name, names.iter().copied());
    Err(format!("`{name}` is not a check{meant} (checks are {})", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::{CheckId, Command, TABLE, check_named};

    #[test]
    fn the_table_is_that_of_results() {
        let known: Vec<(CheckId, &str)> = CheckId::CHECKS.iter().map(|check| (*check, check.as_str())).collect();
        assert_eq!(TABLE, known);
        assert!(known.iter().all(|(check, name)| check_named(name) == Ok(*check)));
    }

    #[test]
    fn a_slip_is_answered_with_the_name_that_was_meant() {
        for (slip, meant) in [("dumps", "dump"), ("losss", "loss"), ("confg", "config"), ("checkpiont", "checkpoint")] {
            let error = check_named(slip).expect_err("no check");
            assert!(error.contains(&format!("did you mean `{meant}`?")), "{error}");
        }
        for other in ["artifacts", "policy", "history", ""] {
            let error = check_named(other).expect_err("no check");
            assert_eq!(
                error,
                format!(
                    "`{other}` is not a check (checks are config, loss, dump, checkpoint, arrays, monitor, tokens, evaluation, operators, performance, source)"
                )
            );
        }
    }

    #[test]
    fn every_command_runs_a_check() {
        assert!(Command::ALL.iter().all(|command| !command.checks().is_empty()));
    }
}
