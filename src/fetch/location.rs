//! Locations: where an artifact lies, as a user writes it.
//!
//! A location's text may contain secrets (a signed address, a password). Everything printed therefore comes from the `Display` of
//! [`Location`]: scheme, host and path, and for locations at forges also the query.

use std::fmt;

use url::Url;

use super::digest::Digest;
use crate::documentation;
use crate::error::{Error, ErrorKind, Result};

/// Location of an artifact.
#[derive(Clone, PartialEq, Eq)]
pub enum Location {
    /// A path on this machine.
    Local(String),
    /// A file on a web server, or a folder whose listing the server gives as JSON (`https://`, `http://`).
    Http(HttpLocation),
    /// An object or a prefix in an S3 bucket (`s3://bucket/prefix?endpoint=&region=&profile=&anonymous=true`).
    S3(BucketLocation),
    /// An object or a prefix in a bucket of Huawei Cloud OBS (`obs://bucket/prefix?endpoint=&region=`).
    Obs(BucketLocation),
    /// An artifact of a workflow run, or a release asset
    /// (`github://owner/repo/name?workflow=&branch=&run=`, `github://owner/repo/asset?release=`).
    GitHub(GitHubLocation),
    /// Artifacts of a job, or a file of a generic package
    /// (`gitlab://group/project/job?ref=`, `gitlab://group/project/file?package=&version=`).
    GitLab(GitLabLocation),
}

/// A file or folder on a web server.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpLocation {
    /// The address, without its fragment.
    pub url: Url,
    /// The digest that the fragment `#sha256=…` demands.
    pub digest: Option<Digest>,
}

/// An object or prefix in a bucket.
#[derive(Clone, PartialEq, Eq)]
pub struct BucketLocation {
    /// The bucket's name.
    pub bucket: String,
    /// Key of the object, or the prefix of several; empty for the whole bucket.
    pub key: String,
    /// Address of the service, where it is not the usual one.
    pub endpoint: Option<String>,
    /// The service's region.
    pub region: Option<String>,
    /// Section of the credential files.
    pub profile: Option<String>,
    /// Whether requests are not signed.
    pub anonymous: bool,
    /// The digest that the fragment `#sha256=…` demands of an object.
    pub digest: Option<Digest>,
}

/// An artifact or asset on GitHub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitHubLocation {
    /// Owner of the repository.
    pub owner: String,
    /// The repository.
    pub repo: String,
    /// Name of the artifact or asset.
    pub name: String,
    /// The release's tag, or `latest`, where it is an asset.
    pub release: Option<String>,
    /// File name of the workflow whose run left the artifact.
    pub workflow: Option<String>,
    /// Branch the run was for.
    pub branch: Option<String>,
    /// Number of the run.
    pub run: Option<u64>,
    /// The digest that the fragment `#sha256=…` demands.
    pub digest: Option<Digest>,
}

/// Job artifacts or a package's file on GitLab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitLabLocation {
    /// Path of the project: `group/subgroup/project`.
    pub project: String,
    /// Name of the job, or of the package's file.
    pub name: String,
    /// Branch or tag whose newest successful pipeline is meant.
    pub reference: Option<String>,
    /// Number of the job, instead of the newest.
    pub job: Option<u64>,
    /// Name of the generic package.
    pub package: Option<String>,
    /// Version of the generic package.
    pub version: Option<String>,
    /// The digest that the fragment `#sha256=…` demands.
    pub digest: Option<Digest>,
}

impl Location {
    /// Reads a location as the user gave it. Text without a known scheme is a local path.
    ///
    /// # Errors
    /// `Usage` where a location with a known scheme lacks a part or has an unknown query.
    pub fn parse(text: &str) -> Result<Self> {
        let Some((scheme, _)) = text.split_once("://") else { return Ok(Self::Local(text.to_owned())) };
        let url = || Parts::parse(text);
        match scheme {
            "https" | "http" => Ok(Self::Http(http(url()?)?)),
            "s3" => Ok(Self::S3(bucket(url()?)?)),
            "obs" => Ok(Self::Obs(bucket(url()?)?)),
            "github" => Ok(Self::GitHub(github(url()?)?)),
            "gitlab" => Ok(Self::GitLab(gitlab(url()?)?)),
            _ => {
                let error = Error::new(ErrorKind::Usage, scheme, "is not a scheme of a location");
                Err(error
                    .with_help("locations are paths, or start with https://, s3://, obs://, github:// or gitlab://"))
            }
        }
    }

    /// Whether the location is not on this machine.
    pub fn is_remote(&self) -> bool {
        !matches!(self, Self::Local(_))
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(path) => f.write_str(path),
            Self::Http(at) => f.write_str(&without_secrets(&at.url)),
            Self::S3(at) => write!(f, "s3://{}/{}", at.bucket, at.key),
            Self::Obs(at) => write!(f, "obs://{}/{}", at.bucket, at.key),
            Self::GitHub(at) => at.fmt(f),
            Self::GitLab(at) => at.fmt(f),
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for GitHubLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run = self.run.map(|run| run.to_string());
        let asked = [("release", &self.release), ("workflow", &self.workflow), ("branch", &self.branch), ("run", &run)];
        write!(f, "github://{}/{}/{}{}", self.owner, self.repo, self.name, query(&asked))
    }
}

impl fmt::Display for GitLabLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let job = self.job.map(|job| job.to_string());
        let asked = [("ref", &self.reference), ("job", &job), ("package", &self.package), ("version", &self.version)];
        write!(f, "gitlab://{}/{}{}", self.project, self.name, query(&asked))
    }
}

/// Query of the parts that are present, as `?a=1&b=2`.
fn query(asked: &[(&str, &Option<String>)]) -> String {
    let given = asked.iter().filter_map(|(name, value)| Some(format!("{name}={}", value.as_ref()?)));
    let joined = given.collect::<Vec<_>>().join("&");
    if joined.is_empty() { joined } else { format!("?{joined}") }
}

/// An address in printable form: scheme, host and path, without user, query and fragment.
pub(crate) fn without_secrets(url: &Url) -> String {
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

/// A parsed address with its query split into parts.
struct Parts {
    url: Url,
    /// Name in messages.
    shown: String,
    asked: Vec<(String, String)>,
    digest: Option<Digest>,
}

impl Parts {
    fn parse(text: &str) -> Result<Self> {
        // The text may contain a token, so that it is not printed even if it is malformed.
        let shown = text.split(['?', '#']).next().unwrap_or_default().to_owned();
        let shown = match (shown.split_once("://"), shown.rsplit_once('@')) {
            (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
            _ => shown,
        };
        let wrong = |message: String| Error::new(ErrorKind::Usage, &shown, message);
        let mut url = Url::parse(text).map_err(|error| wrong(format!("is not an address: {error}")))?;
        let digest = match url.fragment() {
            None | Some("") => None,
            Some(fragment) => {
                let digest = fragment.strip_prefix("sha256=").and_then(Digest::parse);
                Some(digest.ok_or_else(|| wrong("what follows `#` must be sha256=<64 hexadecimal digits>".into()))?)
            }
        };
        url.set_fragment(None);
        let asked = url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
        Ok(Self { url, shown, asked, digest })
    }

    /// Removes a part of the query and returns it.
    fn take(&mut self, name: &str) -> Option<String> {
        let position = self.asked.iter().position(|(known, _)| known == name)?;
        Some(self.asked.remove(position).1).filter(|value| !value.is_empty())
    }

    /// Removes a part of the query that is a number and returns it.
    fn take_number(&mut self, name: &str) -> Result<Option<u64>> {
        let Some(text) = self.take(name) else { return Ok(None) };
        let number = text.parse().map_err(|_| self.wrong(&format!("`{name}` must be a number"), ""))?;
        Ok(Some(number))
    }

    /// The path's segments, decoded.
    fn segments(&self) -> Result<Vec<String>> {
        let segments = self.url.path().split('/').filter(|segment| !segment.is_empty());
        segments.map(|segment| decode(segment).ok_or_else(|| self.wrong("its path is not UTF-8", ""))).collect()
    }

    /// Refuses parts of the query that were not used: a typing error must not silently drop a restriction.
    fn done(&self) -> Result<()> {
        match self.asked.first() {
            None => Ok(()),
            Some((name, _)) => Err(self
                .wrong(&format!("`{name}` cannot be asked for here"), concat!("see ", documentation!("locations.md")))),
        }
    }

    fn wrong(&self, message: &str, help: &str) -> Error {
        let error = Error::new(ErrorKind::Usage, &self.shown, message);
        if help.is_empty() { error } else { error.with_help(help) }
    }
}

/// Undoes percent-encoding; `None` where the result is not UTF-8.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let hex = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match hex.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

fn http(parts: Parts) -> Result<HttpLocation> {
    if parts.url.host_str().is_none_or(str::is_empty) {
        return Err(parts.wrong("has no host", ""));
    }
    Ok(HttpLocation { url: parts.url, digest: parts.digest })
}

fn bucket(mut parts: Parts) -> Result<BucketLocation> {
    let bucket = parts.url.host_str().unwrap_or_default().to_owned();
    if bucket.is_empty() {
        return Err(parts.wrong("has no bucket", "write s3://bucket/prefix or obs://bucket/prefix"));
    }
    let key = decode(parts.url.path().trim_start_matches('/')).ok_or_else(|| parts.wrong("is not UTF-8", ""))?;
    let location = BucketLocation {
        bucket,
        key,
        endpoint: parts.take("endpoint"),
        region: parts.take("region"),
        profile: parts.take("profile"),
        anonymous: parts.take("anonymous").is_some_and(|value| value == "true"),
        digest: parts.digest,
    };
    parts.done()?;
    Ok(location)
}

fn github(mut parts: Parts) -> Result<GitHubLocation> {
    let form = "write github://owner/repo/artifact?workflow=ci.yml&branch=main or github://owner/repo/asset?release=v1";
    let owner = parts.url.host_str().unwrap_or_default().to_owned();
    let segments = parts.segments()?;
    let ([repo, name], false) = (segments.as_slice(), owner.is_empty()) else {
        return Err(parts.wrong("does not name owner, repository and artifact", form));
    };
    let location = GitHubLocation {
        owner,
        repo: repo.clone(),
        name: name.clone(),
        release: parts.take("release"),
        workflow: parts.take("workflow"),
        branch: parts.take("branch"),
        run: parts.take_number("run")?,
        digest: parts.digest,
    };
    parts.done()?;
    if location.release.is_some()
        && (location.workflow.is_some() || location.branch.is_some() || location.run.is_some())
    {
        return Err(parts.wrong("asks for a release and for a run", form));
    }
    Ok(location)
}

fn gitlab(mut parts: Parts) -> Result<GitLabLocation> {
    let form = "write gitlab://group/project/job?ref=main or gitlab://group/project/file?package=NAME&version=1.0";
    let mut path = vec![decode(parts.url.host_str().unwrap_or_default()).unwrap_or_default()];
    path.extend(parts.segments()?);
    let (Some(name), true) = (path.pop(), path.len() >= 2) else {
        return Err(parts.wrong("does not name project and job", form));
    };
    let location = GitLabLocation {
        project: path.join("/"),
        name,
        reference: parts.take("ref"),
        job: parts.take_number("job")?,
        package: parts.take("package"),
        version: parts.take("version"),
        digest: parts.digest,
    };
    parts.done()?;
    let is_package = location.package.is_some() && location.version.is_some();
    let is_job = location.package.is_none() && location.version.is_none();
    if !(is_package || is_job && (location.reference.is_some() || location.job.is_some())) {
        return Err(parts.wrong("does not say which job or which package", form));
    }
    Ok(location)
}

/// Percent-encodes the characters that are not allowed in a path segment, including `/`.
#[cfg(feature = "network")]
pub(crate) fn encode_segment(segment: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    segment
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_location_is_told_from_a_path() {
        for (text, shown) in [
            ("runs/gpu", "runs/gpu"),
            ("C:/runs", "C:/runs"),
            ("https://user:pw@host.example:8443/a/b.tar.zst?X-Signature=abc", "https://host.example:8443/a/b.tar.zst"),
            ("s3://Golden/glm/step 1?endpoint=http://minio:9000&region=r", "s3://Golden/glm/step 1"),
            ("obs://golden/", "obs://golden/"),
            (
                "github://Acme/Model/gpu%20run?workflow=nightly.yml&branch=main",
                "github://Acme/Model/gpu run?workflow=nightly.yml&branch=main",
            ),
            ("github://a/b/c.zip?release=latest", "github://a/b/c.zip?release=latest"),
            ("gitlab://group/sub/project/train:gpu?ref=main", "gitlab://group/sub/project/train:gpu?ref=main"),
            ("gitlab://g/p/gpu.tar?package=golden&version=1.2", "gitlab://g/p/gpu.tar?package=golden&version=1.2"),
        ] {
            let location = Location::parse(text).expect(text);
            assert_eq!(location.to_string(), shown);
            assert_eq!(location.is_remote(), text.contains("://"), "{text}");
        }
    }

    #[test]
    fn a_wrong_location_is_refused_without_repeating_its_secrets() {
        for text in [
            "ftp://host/file",
            "https://",
            "s3:///key",
            "s3://bucket/key?acess=1",
            "github://owner/repo",
            "github://owner/repo/name?run=new",
            "github://owner/repo/name?release=v1&branch=main",
            "gitlab://project/job?ref=main",
            "gitlab://group/project/job",
            "gitlab://group/project/file?package=x",
            "https://host/file?token=s3cret#md5=1",
            "https://user:s3cret@[bad/file?token=s3cret",
        ] {
            let error = Location::parse(text).expect_err(text);
            assert_eq!(error.kind(), ErrorKind::Usage, "{text}");
            assert!(!format!("{error} {:?}", error.help()).contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn a_digest_can_be_demanded() {
        let digest = Digest::of(b"x");
        let text = format!("https://host/file.tar#sha256={}", digest.hex());
        let Ok(Location::Http(location)) = Location::parse(&text) else { panic!("{text}") };
        assert_eq!(location.digest, Some(digest));
        assert_eq!(location.url.fragment(), None);
    }

    #[test]
    fn segments_survive_encoding() {
        for text in ["a/b c", "ü%", "plain-1.0_~"] {
            assert_eq!(decode(&encode_segment(text)).as_deref(), Some(text));
        }
        assert_eq!(encode_segment("a/b"), "a%2Fb");
    }
}
