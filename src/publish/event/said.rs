//! Words that the gate is asked to answer.

/// Somebody's new words on a pull request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// The text.
    pub text: String,
    /// The person, as the forge is asked about people: a login at GitHub, a number at GitLab. Empty where the forge has to be
    /// asked who it was.
    pub by: String,
    /// The person's name, for people.
    pub name: String,
    /// Time of the comment, as the forge writes it; empty for a job that somebody started.
    pub at: String,
}

/// Variable in which a job that somebody starts is told what to answer.
pub const ANSWER: &str = "PRECISION_GATE_ANSWER";
