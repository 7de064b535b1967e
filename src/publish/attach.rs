//! Uploads the documents of a sign-off to the release that they are about.
//!
//! At GitHub they become assets of the release, which may be a draft; an asset with the same name is replaced. At GitLab they become
//! files of a generic package, linked from the release. The release must exist: creating it is a step of the release process.

use secrecy::SecretString;
use serde_json::json;

use super::answer::github::{Asset, Release as Found};
use super::answer::gitlab::Link;
use super::answer::{Answer, Read};
use super::call::{Body, Call, segment};
use super::client::{Client, Failure, Undone};
use super::dialect::Releases;
use super::forge::ForgeKind;
use super::forges::forge_of;
use super::limit;
use super::transport::runtime;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::permission::{Need, Permission};

/// Releases are part of a repository's contents.
const READ: Need = Permission::Contents.read();
const WRITE: Need = Permission::Contents.write();

/// The package that holds the files at GitLab.
const PACKAGE: &str = "precision-gate-signoff";

/// The release.
#[derive(Clone, Debug)]
pub struct Release {
    /// The forge.
    pub kind: ForgeKind,
    /// Base address of its interface.
    pub api: String,
    /// `owner/name`, or a project's number.
    pub repository: String,
    /// Its tag.
    pub tag: String,
    /// Number that spreads the retries of jobs that failed at the same time.
    pub seed: u64,
}

/// A file to attach.
#[derive(Clone, Debug)]
pub struct Attachment {
    /// Its name.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Attaches files. Without a token nothing is sent; the result is then the text of the requests that would have been sent.
///
/// # Errors
/// Where the forge refuses a request, the release does not exist, or the token may not be sent to the upload address.
pub fn attach(release: &Release, token: Option<SecretString>, files: &[Attachment]) -> Result<String> {
    runtime()?.block_on(async {
        let client = match token {
            Some(token) => Client::new(release.kind, &release.api, token, release.seed)?,
            None => Client::dry(&release.api),
        };
        let forge = forge_of(release.kind, &release.repository);
        let attached = match forge.releases() {
            Some(Releases::Assets) => as_assets(release, &client, forge.root(), files).await,
            Some(Releases::Packages) => as_packages(release, &client, forge.root(), files).await,
            None => {
                let message = format!("releases of {} are not supported yet", release.kind.name());
                Err(Error::new(ErrorKind::Unsupported, "--attach", message)
                    .with_help("attach the files with the forge's own tools")
                    .into())
            }
        };
        attached.map_err(|undone| undone.into_error(&*forge))?;
        Ok(client.planned_requests())
    })
}

async fn as_assets(release: &Release, client: &Client, root: &str, files: &[Attachment]) -> Result<(), Undone> {
    let Some(found) = github_release(release, client, root).await? else { return Err(no_release(release).into()) };
    let address = upload_address(&release.api, &found.upload_url, client.is_dry())?;
    for file in files {
        for old in found.assets.iter().filter(|asset| asset.name == file.name) {
            let path = format!("{root}/releases/assets/{}", old.id);
            client.send(&Call::delete("replace a file of the release", WRITE, path)).await?;
        }
        upload(client, (root, found.id), &address, file).await?;
    }
    Ok(())
}

/// The release of the tag; drafts can only be found in the list of releases.
async fn github_release(release: &Release, client: &Client, root: &str) -> Result<Option<Found>, Failure> {
    if client.is_dry() {
        return Ok(Some(Found::default()));
    }
    let of_tag = Call::get("find the release", READ, format!("{root}/releases/tags/{}", segment(&release.tag)));
    match client.ask(&of_tag, |answer| answer.read::<Found>("a release")).await {
        Ok(found) => return Ok(Some(found)),
        Err(failure) if failure.status == Some(404) => {}
        Err(failure) => return Err(failure),
    }
    let list = Call::page("find the release", READ, format!("{root}/releases?per_page=100"));
    let list = client.ask(&list, |answer| answer.read::<Vec<Found>>("a list of releases")).await?;
    Ok(list.into_iter().find(|one| one.tag == release.tag))
}

/// Uploads a file. If the answer is lost, the uploaded file is looked for; an incomplete one is removed.
async fn upload(client: &Client, (root, id): (&str, u64), address: &str, file: &Attachment) -> Result<(), Failure> {
    let call = Call {
        body: Body::Bytes { base: Some(address.to_owned()), bytes: file.bytes.clone() },
        ..Call::post("attach a file to the release", WRITE, format!("?name={}", segment(&file.name)), ())
    };
    let is_whole = |asset: &Asset| asset.state == "uploaded" && asset.size == file.bytes.len() as u64;
    let look = async || {
        let list = Call::page("list the release's files", READ, format!("{root}/releases/{id}/assets?per_page=100"));
        let read = |answer: &Answer| answer.read::<Vec<Asset>>("a list of files");
        let mut named = client.ask(&list, read).await?;
        named.retain(|asset| asset.name == file.name);
        let (whole, half): (Vec<Asset>, Vec<Asset>) = named.into_iter().partition(is_whole);
        for asset in half {
            let path = format!("{root}/releases/assets/{}", asset.id);
            client.send(&Call::delete("remove half a file of the release", WRITE, path)).await?;
        }
        Ok::<Option<Asset>, Failure>(whole.into_iter().next())
    };
    let read = |answer: &Answer| {
        let asset: Asset = answer.read("the file")?;
        if asset.name == file.name && is_whole(&asset) {
            Ok(asset)
        } else {
            Err("without the complete file".to_owned())
        }
    };
    client.create(&call, read, look).await.map(|_| ())
}

/// The address for uploads, which is on another host at GitHub.com. The token is sent only to the API's own origin, and over
/// `https` to the host that GitHub uses beside `api.`.
fn upload_address(api: &str, template: &str, is_dry: bool) -> Result<String> {
    if is_dry {
        return Ok("UPLOADS".into());
    }
    let address = template.split('{').next().unwrap_or_default();
    let origin = |url: &str| {
        let (scheme, rest) = url.split_once("://")?;
        Some((scheme.to_owned(), rest.split(['/', '?', '#']).next().unwrap_or_default().to_ascii_lowercase()))
    };
    let allowed = match (origin(api), origin(address)) {
        (Some(own), Some(other)) if own == other => true,
        (Some((_, own)), Some((scheme, other))) => {
            scheme == "https" && own.strip_prefix("api.").is_some_and(|host| other == format!("uploads.{host}"))
        }
        _ => false,
    };
    if allowed {
        return Ok(address.to_owned());
    }
    let shown = origin(address).map_or_else(String::new, |(scheme, host)| format!("{scheme}://{host}"));
    let message = format!("the forge names {shown} for uploads, where the token does not go");
    Err(Error::new(ErrorKind::Denied, "--attach", message)
        .with_help("check the address of the API (--url); attach the files with `gh release upload`"))
}

async fn as_packages(release: &Release, client: &Client, root: &str, files: &[Attachment]) -> Result<(), Undone> {
    let links = format!("{root}/releases/{}/assets/links", segment(&release.tag));
    let list = format!("{links}?per_page=100");
    let known = match client.ask(&Call::page("find the release", READ, &list), links_of).await {
        Err(failure) if failure.status == Some(404) => return Err(no_release(release).into()),
        known => known?,
    };
    // A version may contain letters, digits, dots, hyphens and underscores.
    let version: String =
        release.tag.chars().map(|c| if c.is_ascii_alphanumeric() || "._-+".contains(c) { c } else { '-' }).collect();
    for file in files {
        let path = format!("{root}/packages/generic/{PACKAGE}/{}/{}", segment(&version), segment(&file.name));
        let put = Call {
            body: Body::Bytes { base: None, bytes: file.bytes.clone() },
            max_bytes: limit::WORD,
            ..Call::put("attach a file to the release", WRITE, &path, ())
        };
        client.send(&put).await?;
        if known.iter().any(|link| link.name == file.name) {
            continue;
        }
        let url = format!("{}{path}", release.api.trim_end_matches('/'));
        let body = json!({ "name": file.name, "url": url, "link_type": "other" });
        let call = Call::post("link a file from the release", WRITE, &links, body);
        let look = async || {
            let list = Call::page("list the release's links", READ, &list);
            Ok(client.ask(&list, links_of).await?.into_iter().find(|link| link.name == file.name))
        };
        let read = |answer: &Answer| {
            let link: Link = answer.read("a link")?;
            if link.name == file.name { Ok(link) } else { Err("with a link other than the one sent".to_owned()) }
        };
        client.create(&call, read, look).await?;
    }
    Ok(())
}

fn links_of(answer: &Answer) -> Read<Vec<Link>> {
    answer.read("a list of links")
}

fn no_release(release: &Release) -> Error {
    Error::new(ErrorKind::NotFound, "--attach", format!("the tag {} has no release", release.tag))
        .with_help("make the release first, a draft will do, and check that the token may see it")
}

#[cfg(test)]
mod tests {
    use super::upload_address;

    #[test]
    fn the_token_goes_to_the_forge_alone() {
        for (api, template, allowed) in [
            ("https://api.github.com", "https://uploads.github.com/repos/o/r/releases/1/assets{?name,label}", true),
            ("https://api.name.ghe.com", "https://uploads.name.ghe.com/repos/o/r/releases/1/assets", true),
            ("https://ghes.example/api/v3", "https://ghes.example/api/uploads/repos/o/r/releases/1/assets{?n}", true),
            ("http://127.0.0.1:9", "http://127.0.0.1:9/repos/o/r/releases/1/assets{?name,label}", true),
            ("https://api.github.com", "http://uploads.github.com/repos/o/r", false),
            ("https://api.github.com", "https://uploads.github.com.evil.example/x", false),
            ("https://api.github.com", "https://uploads.github.com@evil.example/x", false),
            ("https://ghes.example/api/v3", "https://evil.example/api/uploads", false),
            ("https://ghes.example/api/v3", "http://ghes.example/api/uploads", false),
            ("https://api.github.com", "", false),
        ] {
            let address = upload_address(api, template, false);
            assert_eq!(address.is_ok(), allowed, "{api} {template}");
            assert!(address.map_or(true, |address| !address.contains('{')));
        }
    }
}
