//! Installed Python packages, from the metadata beside them.
//!
//! Every installed distribution has a folder `*.dist-info` with `METADATA` (PEP 376), older ones `*.egg-info`
//! with `PKG-INFO`; both start with `Name:` and `Version:` lines. No Python is run.

use std::fs;
use std::path::{Path, PathBuf};

use super::request::CollectRequest;
use crate::error::{Error, ErrorKind, Result};

/// Most bytes of a metadata file that are read: name and version are in its first lines.
const HEAD: usize = 64 * 1024;

/// Advice where packages cannot be listed.
const NAME_THEM: &str = "name the interpreter of the job with --python, or its folder of packages with --site-packages";

/// `Name=version` of every distribution, sorted by name; `None`, with a note, where no interpreter and no folder of packages
/// was given or found.
pub(super) fn installed_packages(request: &CollectRequest, notes: &mut Vec<String>) -> Result<Option<Vec<String>>> {
    let folders = match (&request.python, request.site_packages.as_slice()) {
        (None, []) => {
            notes.push(format!("no Python was found: the pack holds no packages; {NAME_THEM}"));
            return Ok(None);
        }
        (Some(python), []) => match site_packages_of(&behind_shim(python, &request.environment)) {
            Err(error) if request.is_found => {
                notes.push(format!("{error}: the pack holds no packages; {NAME_THEM}"));
                return Ok(None);
            }
            found => found?,
        },
        (_, given) => given.to_vec(),
    };
    let mut packages = Vec::new();
    for folder in &folders {
        let name = folder.display().to_string();
        for entry in fs::read_dir(folder).map_err(|error| Error::io(&name, &error))? {
            let path = entry.map_err(|error| Error::io(&name, &error))?.path();
            let Some(metadata) = metadata_of(&path) else { continue };
            match name_and_version(&metadata) {
                Some(line) => packages.push(line),
                None => notes.push(format!("{}: holds no name and version", metadata.display())),
            }
        }
    }
    if packages.is_empty() {
        let shown: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        notes.push(format!("no installed package was found in {}; {NAME_THEM}", shown.join(", ")));
    }
    packages.sort_by_key(|line| (line.to_lowercase(), line.clone()));
    packages.dedup();
    Ok(Some(packages))
}

/// The file with the metadata of one entry of a package folder.
fn metadata_of(path: &Path) -> Option<PathBuf> {
    match path.extension()?.to_str()? {
        "dist-info" => Some(path.join("METADATA")),
        "egg-info" if path.is_dir() => Some(path.join("PKG-INFO")),
        "egg-info" => Some(path.to_owned()),
        _ => None,
    }
}

fn name_and_version(metadata: &Path) -> Option<String> {
    use std::io::Read;
    let mut bytes = Vec::new();
    fs::File::open(metadata).ok()?.take(HEAD as u64).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let headers = || text.lines().take_while(|line| !line.trim().is_empty());
    let field =
        |name: &str| headers().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim().to_owned()));
    Some(format!("{}={}", field("Name")?, field("Version")?))
}

/// The interpreter behind a pyenv shim, which is a script and is not run. Its version is from `PYENV_VERSION`, from `.python-version` in the
/// working folder, or from pyenv's own `version` file. Without any of them it is the shim itself.
fn behind_shim(python: &Path, environment: &[(String, String)]) -> PathBuf {
    let shims = python.parent().filter(|folder| folder.ends_with("shims"));
    let Some((root, name)) = shims.and_then(Path::parent).zip(python.file_name()) else { return python.to_owned() };
    let variable = environment.iter().find(|(name, _)| name == "PYENV_VERSION").map(|(_, value)| value.clone());
    let written = |path: PathBuf| fs::read_to_string(path).ok();
    let versions = [variable, written(PathBuf::from(".python-version")), written(root.join("version"))];
    let named =
        versions.into_iter().flatten().flat_map(|text| text.split([':', '\n']).map(str::to_owned).collect::<Vec<_>>());
    // A version is the name of a folder, and cannot lead out of its parent.
    let is_name = |version: &String| !version.is_empty() && !version.contains('/') && !version.starts_with('.');
    let found = named
        .map(|version| version.trim().to_owned())
        .filter(is_name)
        .map(|version| root.join("versions").join(version).join("bin").join(name));
    found.into_iter().find(|python| python.is_file()).unwrap_or_else(|| python.to_owned())
}

/// The package folders of an interpreter: `lib/python3.*/site-packages` beside its `bin`.
///
/// A virtual environment's interpreter is a link; its own folder comes first, and where that has no packages the
/// one behind the link.
fn site_packages_of(python: &Path) -> Result<Vec<PathBuf>> {
    let name = python.display().to_string();
    let real = python.canonicalize().map_err(|error| {
        Error::io(&name, &error).with_help("give the interpreter of the job with --python, or --site-packages")
    })?;
    let found = [python.to_owned(), real].iter().map(|python| below_prefix(python)).find(|found| !found.is_empty());
    found.ok_or_else(|| {
        Error::new(ErrorKind::NotFound, name, "this interpreter has no site-packages folder")
            .with_help("give the folder itself with --site-packages")
    })
}

fn below_prefix(python: &Path) -> Vec<PathBuf> {
    let Some(prefix) = python.parent().and_then(Path::parent) else { return Vec::new() };
    let mut found = Vec::new();
    for lib in ["lib", "lib64", "local/lib"] {
        let versions = fs::read_dir(prefix.join(lib)).into_iter().flatten().flatten();
        let versions = versions.filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"));
        for version in versions {
            let folders = ["site-packages", "dist-packages"].map(|name| version.path().join(name));
            found.extend(folders.into_iter().filter(|folder| folder.is_dir()));
        }
    }
    // lib64 is a link to lib in most environments.
    found.sort();
    found.dedup_by_key(|folder| folder.canonicalize().ok());
    found
}
