//! A linter of Python training code that moves from GPU to Ascend NPU: code that does not run there, that does not compute the
//! same numbers in two runs, or computes wrong ones.
//!
//! Nothing is run or imported. [`lint`] looks at the files of one tree; a program that reads files itself, on many threads,
//! or judges the lines of a change, asks [`rules::look_at_module`] for each file and [`rules::broken`] for what holds in the tree.
//!
//! ```
//! let broken = precision_gate_source::lint([("train.py", "import torch\ntorch.backends.cudnn.benchmark = True\n")])?;
//! let told = broken.iter().map(|(file, breach)| format!("{file}:{} {}", breach.line, breach.rule.rule.code));
//! assert_eq!(told.collect::<Vec<_>>(), ["train.py:2 cudnn-benchmark"]);
//! # Ok::<(), std::io::Error>(())
//! ```

pub mod read;
pub mod rules;

use std::io;
use std::thread;

use crate::read::Module;
use crate::rules::{Breach, Context, Flags, Looked, broken, look_at_module};

/// Bytes of stack of a thread that parses: nesting is bounded to what a few of these take, in a build without optimisation too.
pub const STACK: usize = 64 << 20;

/// The rules that the Python files of a tree break, by file and in the order of lines; each file is its path below the tree's
/// root, `/`-separated, and its text. Rules that are off by default ([`rules::SourceRule::is_off`]) are among them, and a file
/// that cannot be read breaks `source-not-read`.
///
/// # Errors
/// Where the system gives no thread.
pub fn lint<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> io::Result<Vec<(&'a str, Breach)>> {
    let files: Vec<(&str, &str)> = files.into_iter().collect();
    let look_at =
        |(path, text): (&'a str, &str)| (path, look_at_module(&Module::parse(path, text.as_bytes().to_vec()), true));
    let looked: Vec<(&str, Looked)> = thread::scope(|scope| {
        let reader = thread::Builder::new().stack_size(STACK);
        let reader = reader.spawn_scoped(scope, || files.iter().copied().map(look_at).collect())?;
        reader.join().map_err(|_| io::Error::other("a file could not be looked at"))
    })?;
    let context = Context {
        flags: looked.iter().fold(Flags::default(), |flags, (_, looked)| flags.with(looked.flags)),
        packages: looked.iter().map(|(path, _)| package(path).to_owned()).collect(),
    };
    let of_file = |(path, looked)| {
        let broken = broken(path, looked, &context, None);
        broken.breaches.into_iter().map(move |breach| (path, breach))
    };
    Ok(looked.into_iter().flat_map(of_file).collect())
}

/// The package or module that a file is of.
fn package(path: &str) -> &str {
    let below = path.strip_prefix("src/").unwrap_or(path);
    below.split('/').next().unwrap_or_default().trim_end_matches(".py")
}
