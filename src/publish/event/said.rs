//! Messages of people that the gate answers.

/// A person's new message about a pull request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserMessage {
    /// The text.
    pub text: String,
    /// Identifier of the person in the forge's API: a login at GitHub, a number at GitLab. Empty if the forge has to be asked for the
    /// person.
    pub author: String,
    /// The person's name for display.
    pub name: String,
    /// Time of the comment, as the forge writes it; empty for a job that a person started.
    pub time: String,
}

/// Variable that holds the message for a job that a person starts by hand.
pub const ANSWER: &str = "PRECISION_GATE_ANSWER";
