//! The issue of a suite: opened once, kept up to date while the suite blocks, closed when it is green again.
//!
//! The issue is found like a comment: by a hidden last line *and* its author, among the issues with the gate's label. The line
//! before stores the facts that the issue shows, so that a short comment is added exactly when they change. A suite has one issue,
//! which is reopened if the suite blocks again.

mod flow;

use super::comment::digest;
use super::forge::Issue;
use super::marker::{self, Marker};
use super::tracker::StateChange;
use crate::result::GateResult;

/// State of a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuiteState {
    /// Its verdict does not block.
    Green,
    /// The suite blocks, but in fewer consecutive runs than the history needs for an alert.
    Held,
    /// The suite blocks, and people are notified.
    Red,
}

impl SuiteState {
    /// The state of the suite of `result`.
    pub fn from_result(result: &GateResult) -> Self {
        let is_alert = result.history.as_ref().is_none_or(|history| history.alert);
        match result.verdict.blocks() {
            false => Self::Green,
            true if is_alert => Self::Red,
            true => Self::Held,
        }
    }
}

/// The issues with this marker and author, the oldest first.
pub(crate) fn own_issues(mut issues: Vec<Issue>, marker: &Marker, author: &str) -> Vec<Issue> {
    issues.retain(|issue| issue.author == author);
    let mut own = marker.marked_items(issues, |issue| &issue.body);
    own.sort_by_key(|issue| issue.number);
    own
}

/// Facts of an issue, kept in its hidden stamp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The verdict.
    pub verdict: String,
    /// Digest of the culprit's operation; `none` without a culprit.
    pub culprit: String,
    /// The day on which the suite became red; empty while it is green.
    pub since: String,
}

impl Stamp {
    /// The facts of `result`; the red day is kept from `before` if the suite was red already.
    pub fn from_result(result: &GateResult, before: Option<&Self>) -> Self {
        let culprit = result.culprit.as_ref().map_or_else(|| "none".to_owned(), |it| digest(it.op.as_bytes()));
        let known = before.map(|before| before.since.as_str()).filter(|since| !since.is_empty());
        let is_green = SuiteState::from_result(result) == SuiteState::Green;
        let since = if is_green { "" } else { known.unwrap_or(&result.today) }.to_owned();
        Self { verdict: result.verdict.as_str().to_owned(), culprit, since }
    }

    /// Reads the stamp of an issue's text. The text may have been edited, so an invalid day counts as no day.
    pub fn read(body: &str) -> Option<Self> {
        let line = marker::stamp(body).or_else(|| marker::old_stamp(body))?;
        let word = |name: &str| {
            let start = format!("{name}=");
            line.split(' ').find_map(|word| word.strip_prefix(&start)).map(str::to_owned)
        };
        let is_day = |text: &String| text.len() == 10 && text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        let since = word("since").filter(is_day).unwrap_or_default();
        Some(Self { verdict: word("verdict")?, culprit: word("culprit")?, since })
    }

    fn line(&self) -> String {
        format!("verdict={} culprit={} since={}", self.verdict, self.culprit, self.since)
    }
}

/// Action on the suite's issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueStep {
    /// Nothing to do: the suite is green, and there is no open issue.
    Nothing,
    /// Open an issue: the suite is red for the first time.
    Open,
    /// Update the issue, with a comment if something changed.
    Update(u64, Option<IssueChange>),
}

/// Change that a comment reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueChange {
    /// Another verdict or culprit.
    Other,
    /// Red again.
    Again,
    /// Green again.
    Green,
}

impl IssueChange {
    /// State that the issue changes to; `None` where it stays as it is.
    pub(crate) fn state_change(self) -> Option<StateChange> {
        match self {
            Self::Other => None,
            Self::Again => Some(StateChange::Open),
            Self::Green => Some(StateChange::Closed),
        }
    }

    fn phrase(self) -> &'static str {
        match self {
            Self::Other => "publish_issue_changed",
            Self::Again => "publish_issue_again",
            Self::Green => "publish_issue_green",
        }
    }
}

/// The action that makes the suite's issue show `now`; `own` is the existing issue.
pub fn next_step(own: Option<&Issue>, now: &Stamp, standing: SuiteState) -> IssueStep {
    let is_red = standing == SuiteState::Red;
    let Some(issue) = own else { return if is_red { IssueStep::Open } else { IssueStep::Nothing } };
    let shown = Stamp::read(&issue.body);
    let same = shown.is_some_and(|shown| (shown.verdict, shown.culprit) == (now.verdict.clone(), now.culprit.clone()));
    match (issue.open, standing) {
        (false, SuiteState::Red) => IssueStep::Update(issue.number, Some(IssueChange::Again)),
        (false, _) => IssueStep::Nothing,
        (true, SuiteState::Green) => IssueStep::Update(issue.number, Some(IssueChange::Green)),
        (true, _) => IssueStep::Update(issue.number, (!same).then_some(IssueChange::Other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::publish::Key;

    fn stamp(verdict: &str, since: &str) -> Stamp {
        Stamp { verdict: verdict.into(), culprit: "none".into(), since: since.into() }
    }

    fn issue(number: u64, author: &str, open: bool, stamp: &Stamp) -> Issue {
        let body = format!("text\n{}", Marker::of_issue("1", &Key::default()).tail(&stamp.line()));
        Issue { number, author: author.into(), body, open, labelled: true }
    }

    #[test]
    fn an_issue_follows_its_suite() {
        let (red, other, green) = (stamp("fail", "2026-11-01"), stamp("incomplete", "2026-11-01"), stamp("pass", ""));
        let at = |open| issue(4, "bot", open, &red);
        use SuiteState::{Green, Held, Red};
        for (own, now, standing, step) in [
            (None, &green, Green, IssueStep::Nothing),
            (None, &red, Held, IssueStep::Nothing),
            (None, &red, Red, IssueStep::Open),
            (Some(at(true)), &red, Red, IssueStep::Update(4, None)),
            (Some(at(true)), &other, Held, IssueStep::Update(4, Some(IssueChange::Other))),
            (Some(at(true)), &green, Green, IssueStep::Update(4, Some(IssueChange::Green))),
            (Some(at(false)), &green, Green, IssueStep::Nothing),
            (Some(at(false)), &red, Held, IssueStep::Nothing),
            (Some(at(false)), &red, Red, IssueStep::Update(4, Some(IssueChange::Again))),
        ] {
            assert_eq!(next_step(own.as_ref(), now, standing), step, "{own:?} {now:?}");
        }
    }

    #[test]
    fn an_issue_is_own_by_marker_and_author_and_remembers_what_it_shows() {
        let red = stamp("fail", "2026-11-01");
        let all = vec![issue(9, "bot", true, &red), issue(3, "bot", false, &red), issue(5, "mallory", true, &red)];
        let numbers: Vec<u64> =
            own_issues(all, &Marker::of_issue("1", &Key::default()), "bot").iter().map(|issue| issue.number).collect();
        assert_eq!(numbers, [3, 9]);
        assert_eq!(Stamp::read(&issue(1, "bot", true, &red).body), Some(red));
        let edited = Marker::of_issue("1", &Key::default()).tail("verdict=fail culprit=none since=<b>ever</b>");
        assert_eq!(Stamp::read(&edited).map(|stamp| stamp.since), Some(String::new()));
        assert_eq!(Stamp::read("x"), None);
    }
}
