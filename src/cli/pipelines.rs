//! `init --pull-request`, `init --nightly`, `init --release`: the pipelines of `examples/pipelines`, put where a forge reads them.

mod comments;
mod forge;
mod training;

use std::path::{Path, PathBuf};

use clap::Args;
use precision_gate::documentation;
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::exit;
use precision_gate::fetch::writable::origin_of;
use precision_gate::output;
use precision_gate::publish::forge::ForgeKind;

use forge::PipelineForge;

use super::show;
use super::speech;
use super::surroundings::Surroundings;

/// Flags that choose the pipelines.
#[derive(Debug, Args)]
#[command(next_help_heading = "Pipelines")]
pub(crate) struct PipelineArgs {
    /// Write the pull request pipeline, which reports and blocks nothing yet
    #[arg(long, conflicts_with = "baseline")]
    pub(crate) pull_request: bool,
    /// Write the nightly pipeline: every suite against its baseline, an issue if one fails
    #[arg(long, conflicts_with = "baseline")]
    pub(crate) nightly: bool,
    /// Write the release pipeline: all suites with the profile `release`, and one signed-off document
    #[arg(long, conflicts_with = "baseline")]
    pub(crate) release: bool,
    /// Forge [default: that of the job or of the git remote, else both]
    #[arg(long, value_enum, conflicts_with = "baseline")]
    pub(crate) forge: Option<PipelineForge>,
    /// Root of the repository
    #[arg(long, value_name = "DIR", default_value = ".", hide_default_value = true)]
    pub(crate) root: PathBuf,
    /// Replace existing files
    #[arg(long)]
    pub(crate) force: bool,
}

/// Purpose of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    PullRequest,
    Nightly,
    Release,
}

/// One pipeline.
struct Pipeline {
    forge: PipelineForge,
    purpose: Use,
    /// Path at which the forge reads it.
    path: &'static str,
    text: &'static str,
    /// Steps left to the user, one line each.
    next: &'static [&'static str],
}

/// Advice on the way from reports to a gate that blocks.
const RECORD: &str = "record a baseline, from a GPU run: `precision-gate baseline promote LOCATION --name pull-request --reason WHY --approved-by WHO`; commit the lock file, and write `baseline: baseline:pull-request` where the pipeline says so";
const BLOCK: &str = concat!(
    "once its verdicts have proved right, leave out `report-only`, and let it block: ",
    documentation!("pipelines.md#the-first-weeks-report-only")
);

const PIPELINES: [Pipeline; 6] = [
    Pipeline {
        forge: PipelineForge::Github,
        purpose: Use::PullRequest,
        path: ".github/workflows/precision-pull-request.yml",
        text: include_str!("../../examples/pipelines/github/pull-request.yml"),
        next: &[RECORD, BLOCK],
    },
    Pipeline {
        forge: PipelineForge::Gitlab,
        purpose: Use::PullRequest,
        path: ".gitlab/precision-merge-request.yml",
        text: include_str!("../../examples/pipelines/gitlab/first-merge-request.yml"),
        next: &[
            "include it in .gitlab-ci.yml: `include: [{ local: .gitlab/precision-merge-request.yml }]`",
            "for the note: a project access token (scope api, role Reporter) in the masked variable PRECISION_GATE_TOKEN",
            RECORD,
            BLOCK,
        ],
    },
    Pipeline {
        forge: PipelineForge::Github,
        purpose: Use::Nightly,
        path: ".github/workflows/precision-nightly.yml",
        text: include_str!("../../examples/pipelines/github/nightly.yml"),
        next: &[
            "name your suites in `matrix`, and put their training command in the step `train`: it leaves its artifacts in runs/npu",
            "record a baseline of each suite: `precision-gate baseline promote LOCATION --name SUITE --reason WHY --approved-by WHO`",
            "for a chat: the variable NIGHTLY_CHAT (feishu, dingtalk, wecom, slack or json) and the secret NIGHTLY_WEBHOOK",
        ],
    },
    Pipeline {
        forge: PipelineForge::Github,
        purpose: Use::Release,
        path: ".github/workflows/precision-signoff.yml",
        text: include_str!("../../examples/pipelines/github/release-signoff.yml"),
        next: &[
            "name your suites in `matrix`, and in `signoff: { suites: [...] }` of precision-gate.yml",
            "give the environment `release` its reviewers (repository settings, Environments)",
        ],
    },
    Pipeline {
        forge: PipelineForge::Gitlab,
        purpose: Use::Nightly,
        path: ".gitlab/precision-nightly.yml",
        text: include_str!("../../examples/pipelines/gitlab/nightly.yml"),
        next: &[
            "include it in .gitlab-ci.yml: `include: [{ local: .gitlab/precision-nightly.yml, rules: [{ if: '$CI_PIPELINE_SOURCE == \"schedule\"' }] }]`",
            "put your training command in the job `train`: it leaves its artifacts in runs/npu",
            "name your suite in `baseline`, and record it: `precision-gate baseline promote LOCATION --name SUITE --reason WHY --approved-by WHO`",
            "make a pipeline schedule, and the masked variable PRECISION_GATE_TOKEN (scope api) for the issue",
        ],
    },
    Pipeline {
        forge: PipelineForge::Gitlab,
        purpose: Use::Release,
        path: ".gitlab/precision-signoff.yml",
        text: include_str!("../../examples/pipelines/gitlab/release-signoff.yml"),
        next: &[
            "include it in .gitlab-ci.yml: `include: [{ local: .gitlab/precision-signoff.yml, rules: [{ if: $CI_COMMIT_TAG }] }]`",
            "name your suites in it, and in `signoff: { suites: [...] }` of precision-gate.yml",
        ],
    },
];

/// Writes the pipelines that are asked for, and prints the next steps.
///
/// # Errors
/// `Usage` where a file is there already; nothing is written then.
pub(crate) fn write(args: &PipelineArgs) -> Result<u8> {
    let forge = args.forge.or_else(|| forge_of(&args.root));
    let asked = |pipeline: &&Pipeline| {
        let purpose = match pipeline.purpose {
            Use::PullRequest => args.pull_request,
            Use::Nightly => args.nightly,
            Use::Release => args.release,
        };
        purpose && forge.is_none_or(|forge| forge == pipeline.forge)
    };
    let pipelines: Vec<&Pipeline> = PIPELINES.iter().filter(asked).collect();
    if let Some(there) = pipelines.iter().find(|pipeline| !args.force && args.root.join(pipeline.path).exists()) {
        let error = Error::new(ErrorKind::Usage, args.root.join(there.path).display().to_string(), "is there already");
        return Err(error.with_help("pass --force to replace it"));
    }
    let mut said = String::new();
    for pipeline in pipelines {
        let path = args.root.join(pipeline.path);
        let shipped = comments::in_language(pipeline.text, speech::language());
        let (text, training) = match pipeline.purpose {
            Use::PullRequest => training::put_into(&shipped, pipeline.forge, &args.root),
            _ => (shipped, None),
        };
        let (text, elsewhere) = on_own_host(text, pipeline.forge, origin_of(&args.root).as_deref());
        output::write_below(&args.root, pipeline.path, text.as_bytes())?;
        said.push_str(&format!("written: {}\n", path.display()));
        said.extend(training.map(|step| format!("  next: {step}\n")));
        said.extend(elsewhere.map(|step| format!("  next: {step}\n")));
        said.extend(pipeline.next.iter().map(|step| format!("  next: {step}\n")));
    }
    show::sentences(&said)?;
    Ok(exit::PASS)
}

/// Pins of the artifact actions for github.com, and those that a GitHub Enterprise Server runs (docs/pipelines.md).
const ARTIFACT_ACTIONS: [[&str; 2]; 2] = [
    [
        "actions/upload-artifact@ea165f8d65b6e75b540449e92b4886f43607fa02 # v4.6.2",
        "actions/upload-artifact@ff15f0306b3f739f7b6fd43fb5d26cd321bd4de5 # v3.2.1",
    ],
    [
        "actions/download-artifact@634f93cb2916e3fdff6788551b99b062d0335ce0 # v5.0.0",
        "actions/download-artifact@9bc31d5ccc31df68ecc42ccf4149144866c47d8a # v3.0.2",
    ],
];

/// Advice for a server of one's own that reaches no github.com.
const OWN_GITHUB: &str = concat!(
    "this is a GitHub Enterprise Server: the artifact actions are of version 3, which it runs; where it reaches no github.com, use the action `binary` with a `mirror`: ",
    documentation!("pipelines.md#github-enterprise-server")
);
/// Likewise for an instance whose runners reach no public registry.
const OWN_GITLAB: &str = concat!(
    "this is a GitLab of your own: where its runners do not reach ghcr.io, push the image to your registry and give it as the input `image`, or give `image: \"\"` with the binary in PRECISION_GATE_BIN: ",
    documentation!("install.md#without-internet")
);

/// The pipeline `text` as the server of the remote `origin` runs it, with the next step that this needs.
fn on_own_host(text: String, forge: PipelineForge, origin: Option<&str>) -> (String, Option<&'static str>) {
    let public = match forge {
        PipelineForge::Github => "github.com",
        PipelineForge::Gitlab => "gitlab.com",
    };
    let is_public = |origin: &str| {
        let rest = origin.split_once("://").map_or(origin, |(_, rest)| rest);
        let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
        host.split(['/', ':']).next().is_some_and(|host| host.eq_ignore_ascii_case(public))
    };
    if origin.is_none_or(is_public) {
        return (text, None);
    }
    match forge {
        PipelineForge::Github => {
            (ARTIFACT_ACTIONS.iter().fold(text, |text, [public, own]| text.replace(public, own)), Some(OWN_GITHUB))
        }
        PipelineForge::Gitlab => (text, Some(OWN_GITLAB)),
    }
}

/// The forge of the job, else that of the repository's remote.
fn forge_of(root: &Path) -> Option<PipelineForge> {
    match Surroundings::of_process().place.forge {
        Some(ForgeKind::Github) => return Some(PipelineForge::Github),
        Some(ForgeKind::Gitlab) => return Some(PipelineForge::Gitlab),
        _ => {}
    }
    let remote = origin_of(root)?.to_ascii_lowercase();
    match (remote.contains("github"), remote.contains("gitlab")) {
        (true, false) => Some(PipelineForge::Github),
        (false, true) => Some(PipelineForge::Gitlab),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{CommandFactory, Parser};
    use serde_json::Value;

    use super::*;
    use crate::cli::Cli;

    /// Long flags of a command.
    fn flags(command: &str) -> BTreeSet<String> {
        let program = Cli::command();
        let command = program.find_subcommand(command).expect("a command");
        command.get_arguments().filter_map(|flag| flag.get_long()).map(str::to_owned).collect()
    }

    /// Every value of a key, at any depth.
    fn all<'a>(value: &'a Value, key: &str, found: &mut Vec<&'a Value>) {
        match value {
            Value::Object(entries) => {
                found.extend(entries.get(key));
                entries.values().for_each(|value| all(value, key, found));
            }
            Value::Array(items) => items.iter().for_each(|value| all(value, key, found)),
            _ => {}
        }
    }

    fn yaml(pipeline: &Pipeline) -> Value {
        serde_yaml::from_str(pipeline.text).unwrap_or_else(|error| panic!("{}: {error}", pipeline.path))
    }

    /// Inputs of the actions and the component that are none of the program's flags.
    const OTHERS: [&str; 5] = ["run", "job", "stage", "image", "version"];

    #[test]
    fn inputs_of_pipelines_are_flags() {
        let known = flags("run");
        for pipeline in &PIPELINES {
            let text = yaml(pipeline);
            let (mut steps, mut inputs) = (Vec::new(), Vec::new());
            all(&text, "steps", &mut steps);
            all(&text, "include", &mut inputs);
            let of_gate = |step: &&Value| {
                let what = step.get("uses").or(step.get("component")).and_then(Value::as_str).unwrap_or_default();
                what.contains("precision-gate/precision-gate")
            };
            let lists = steps.into_iter().chain(inputs).filter_map(Value::as_array).flatten();
            let given: Vec<&String> = lists
                .filter(of_gate)
                .filter_map(|step| step.get("with").or(step.get("inputs"))?.as_object())
                .flat_map(serde_json::Map::keys)
                .collect();
            assert!(!given.is_empty(), "{}", pipeline.path);
            for input in given {
                assert!(known.contains(input) || OTHERS.contains(&input.as_str()), "{}: {input}", pipeline.path);
            }
        }
    }

    #[test]
    fn a_server_of_ones_own_gets_actions_that_it_runs() {
        let [pull_request, merge_request, ..] = &PIPELINES;
        let written = |pipeline: &Pipeline, origin| on_own_host(pipeline.text.into(), pipeline.forge, origin);
        for origin in [None, Some("https://github.com/a/b.git"), Some("git@github.com:a/b.git")] {
            assert_eq!(written(pull_request, origin), (pull_request.text.to_owned(), None), "{origin:?}");
        }
        let (text, next) = written(pull_request, Some("git@github.company.com:a/b.git"));
        assert!(!text.contains("# v4") && text.contains("# v3.2.1") && text.contains("# v3.0.2"), "{text}");
        assert_eq!(next, Some(OWN_GITHUB));
        let (_, next) = written(merge_request, Some("https://gitlab.company.com/a/b.git"));
        assert_eq!(next, Some(OWN_GITLAB));
    }

    #[test]
    fn commands_of_pipelines_parse() {
        let mut commands = 0;
        for line in PIPELINES.iter().flat_map(|pipeline| pipeline.text.lines()) {
            let Some((_, command)) = line.split_once(": precision-gate ") else { continue };
            commands += 1;
            let words = command.split_whitespace().map(|word| word.trim_matches('"'));
            let parsed = Cli::try_parse_from(std::iter::once("precision-gate").chain(words));
            assert!(parsed.is_ok(), "{line}: {parsed:?}");
        }
        assert_eq!(commands, 3);
    }
}
