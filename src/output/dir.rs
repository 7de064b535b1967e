//! A folder that files are written into, held by its handle.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::error::{Error, ErrorKind, Result};

/// Variables that name the job's checkout.
const CHECKOUTS: [&str; 2] = ["GITHUB_WORKSPACE", "CI_PROJECT_DIR"];
/// Flag for opening folders along a path. On Linux it does not need the right to list them.
#[cfg(target_os = "linux")]
const PASSING: OFlags = OFlags::PATH;
/// Flag for opening folders along a path.
#[cfg(not(target_os = "linux"))]
const PASSING: OFlags = OFlags::RDONLY;

/// An open folder.
#[derive(Debug)]
pub struct Dir {
    handle: OwnedFd,
    path: PathBuf,
}

/// Whether the last component of a path may be a link, outside of a checkout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Folder,
    FolderOrLink,
}

/// Whether missing folders are created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    Make,
    Leave,
}

impl Dir {
    /// The folder at `path`, which is not a link; `None` where there is none.
    ///
    /// # Errors
    /// `Usage` where a link that must not be followed, or no folder, stands in the way; and what opening gives.
    pub(crate) fn open_existing(path: &Path) -> Result<Option<Self>> {
        walk(path, Last::Folder, Missing::Leave)
    }

    /// The folder at `path`, which is not a link; it is created where there is none.
    ///
    /// # Errors
    /// `Usage` where a link that must not be followed, or no folder, stands in the way; and what opening or creating gives.
    pub fn make(path: &Path) -> Result<Self> {
        there(walk(path, Last::Folder, Missing::Make)?, path)
    }

    /// The folder of a file that a user named: outside of a checkout it may be a link.
    pub(super) fn open_for_file(path: &Path) -> Result<Self> {
        there(Self::open_existing_for_file(path)?, path)
    }

    /// As [`open_for_file`](Self::open_for_file); `None` where there is none.
    pub(super) fn open_existing_for_file(path: &Path) -> Result<Option<Self>> {
        walk(path, Last::FolderOrLink, Missing::Leave)
    }

    /// As [`open_for_file`](Self::open_for_file); created where there is none.
    pub(super) fn make_for_file(path: &Path) -> Result<Self> {
        there(walk(path, Last::FolderOrLink, Missing::Make)?, path)
    }

    /// A folder below this one, reached without following links; `None` where there is none.
    pub(super) fn open_below(self, path: &Path) -> Result<Option<Self>> {
        self.follow(path, Missing::Leave)
    }

    /// A folder below this one, reached without following links; it is created where there is none.
    pub(super) fn make_below(self, path: &Path) -> Result<Self> {
        there(self.follow(path, Missing::Make)?, path)
    }

    fn follow(self, path: &Path, missing: Missing) -> Result<Option<Self>> {
        let mut here = self;
        for component in path.components() {
            match here.step(component.as_os_str(), false, missing)? {
                Some(next) => here = next,
                None => return Ok(None),
            }
        }
        Ok(Some(here))
    }

    /// The path of `name` in this folder, for messages and for reading what this run wrote.
    pub(super) fn place(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The folder, for messages.
    pub(super) fn shown_path(&self) -> String {
        shown(&self.path)
    }

    /// Names of the entries of this folder, in order; those that are not text are left out.
    pub(super) fn names(&self) -> Result<Vec<String>> {
        let list = || -> Result<Vec<String>, Errno> {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let handle = fs::openat(&self.handle, ".", flags, Mode::empty())?;
            let mut names = Vec::new();
            for entry in fs::Dir::read_from(handle)? {
                names.extend(entry?.file_name().to_str().ok().map(str::to_owned));
            }
            Ok(names)
        };
        let mut names = list().map_err(|error| system_error(&self.path, error))?;
        names.sort();
        Ok(names)
    }

    /// Checks that `name` is a regular file or does not exist.
    ///
    /// # Errors
    /// `Usage` where it is something else.
    pub(super) fn check(&self, name: &str) -> Result<()> {
        let path = self.place(name);
        match self.stat(OsStr::new(name)) {
            Ok(stat) => match kind(&stat) {
                FileType::RegularFile => Ok(()),
                other => Err(refused(&path, other, "a file")),
            },
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(system_error(&path, error)),
        }
    }

    /// Creates a file that was not there.
    pub(super) fn create(&self, name: &str) -> Result<File, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        fs::openat(&self.handle, name, flags, Mode::from_raw_mode(0o666)).map(File::from)
    }

    /// The first bytes of a regular file, at most `most`; `None` where nothing has this name.
    pub(super) fn head(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>> {
        self.check(name)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match fs::openat(&self.handle, name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(system_error(&self.place(name), error)),
        };
        let mut head = Vec::new();
        let read = file.take(most).read_to_end(&mut head);
        read.map_err(|error| Error::io(self.place(name).display().to_string(), &error))?;
        Ok(Some(head))
    }

    /// Opens a file to lock it, and creates it where it does not exist.
    pub(super) fn open_lock(&self, name: &str) -> Result<File, Errno> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        fs::openat(&self.handle, name, flags, Mode::from_raw_mode(0o666)).map(File::from)
    }

    /// Whether `name` still refers to the open `file`.
    pub(super) fn is_same_file(&self, name: &str, file: &File) -> bool {
        let (named, open) = (self.stat(OsStr::new(name)), fs::fstat(file));
        named.ok().zip(open.ok()).is_some_and(|(named, open)| identity(&named) == identity(&open))
    }

    /// Gives a file its name; an entry that had the name before is replaced, and never followed.
    pub(super) fn rename(&self, from: &str, to: &str) -> Result<()> {
        fs::renameat(&self.handle, from, &self.handle, to).map_err(|error| system_error(&self.place(to), error))
    }

    /// Removes a name; a missing one is not an error.
    pub(super) fn remove(&self, name: &str) -> Result<()> {
        match fs::unlinkat(&self.handle, name, AtFlags::empty()) {
            Err(error) if error != Errno::NOENT => Err(system_error(&self.place(name), error)),
            _ => Ok(()),
        }
    }

    fn stat(&self, name: &OsStr) -> Result<fs::Stat, Errno> {
        fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// The folder `name` of this one.
    fn step(&self, name: &OsStr, follow: bool, missing: Missing) -> Result<Option<Self>> {
        let path = self.path.join(name);
        let mut opened = open(&self.handle, name, follow);
        if matches!(opened, Err(Errno::NOENT)) {
            if missing == Missing::Leave && matches!(self.stat(name), Err(Errno::NOENT)) {
                return Ok(None);
            }
            match fs::mkdirat(&self.handle, name, Mode::from_raw_mode(0o777)) {
                // It was created by another process meanwhile, or is a dangling link, which opening will report.
                Ok(()) | Err(Errno::EXIST) => opened = open(&self.handle, name, follow),
                Err(error) => return Err(system_error(&path, error)),
            }
        }
        match opened {
            Ok(handle) => Ok(Some(Self { handle, path })),
            Err(error) => match self.stat(name).map(|stat| kind(&stat)) {
                Ok(FileType::Directory) | Err(_) => Err(system_error(&path, error)),
                Ok(other) => Err(refused(&path, other, "a folder")),
            },
        }
    }

    fn is_one_of(&self, checkouts: &[Identity]) -> bool {
        fs::fstat(&self.handle).is_ok_and(|stat| checkouts.contains(&identity(&stat)))
    }
}

/// Device and number of a file.
type Identity = (u64, u64);

#[allow(
    clippy::cast_sign_loss,
    clippy::unnecessary_cast,
    reason = "the types differ between systems; only equality counts"
)]
fn identity(stat: &fs::Stat) -> Identity {
    (stat.st_dev as u64, stat.st_ino as u64)
}

fn kind(stat: &fs::Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn open(at: &OwnedFd, name: &OsStr, follow: bool) -> Result<OwnedFd, Errno> {
    let links = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
    fs::openat(at, name, PASSING | OFlags::DIRECTORY | OFlags::CLOEXEC | links, Mode::empty())
}

/// Opens a path component by component. Relative paths, and paths in a checkout, are opened without following links.
fn walk(path: &Path, last: Last, missing: Missing) -> Result<Option<Dir>> {
    let start = if path.is_absolute() { "/" } else { "." };
    let opened = open_start(start).map_err(|error| system_error(Path::new(start), error))?;
    let shown = if path.is_absolute() { PathBuf::from("/") } else { PathBuf::new() };
    let mut here = Dir { handle: opened, path: shown };
    let checkouts = checkouts();
    let mut strict = !path.is_absolute();
    let steps = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        _ => None,
    };
    let mut names = path.components().filter_map(steps).peekable();
    while let Some(name) = names.next() {
        strict |= here.is_one_of(&checkouts);
        let is_guarded_last = last == Last::Folder && names.peek().is_none();
        match here.step(&name, !strict && !is_guarded_last, missing)? {
            Some(next) => here = next,
            None => return Ok(None),
        }
    }
    Ok(Some(here))
}

fn open_start(path: &str) -> Result<OwnedFd, Errno> {
    fs::open(path, PASSING | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// The checkout folders, in which a change under test may have planted links. The root of the file system does not count as one.
fn checkouts() -> Vec<Identity> {
    let named = CHECKOUTS.iter().filter_map(std::env::var_os).map(PathBuf::from);
    let stat = |path: PathBuf| fs::stat(&path).ok().map(|stat| identity(&stat));
    let root = stat(PathBuf::from("/"));
    named.chain([PathBuf::from(".")]).filter_map(stat).filter(|found| Some(*found) != root).collect()
}

fn there(found: Option<Dir>, path: &Path) -> Result<Dir> {
    found.ok_or_else(|| system_error(path, Errno::NOENT))
}

fn refused(path: &Path, kind: FileType, wanted: &str) -> Error {
    let what = match kind {
        FileType::Symlink => "a symbolic link",
        FileType::Directory => "a folder",
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::RegularFile => "a file",
        FileType::Unknown => "of an unknown kind",
    };
    let message = format!("is {what} where {wanted} is to be written; nothing was written through it");
    let error = Error::new(ErrorKind::Usage, path.display().to_string(), message);
    error.with_help("remove it, or name another place to write to; in a checkout it may be part of the change")
}

/// An error of the system about `path`.
pub(super) fn system_error(path: &Path, error: Errno) -> Error {
    Error::io(shown(path), &io::Error::from(error))
}

fn shown(path: &Path) -> String {
    if path.as_os_str().is_empty() { ".".to_owned() } else { path.display().to_string() }
}
