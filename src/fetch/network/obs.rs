//! Huawei Cloud OBS: where the service is and who asks.
//!
//! As obsutil and the OBS SDKs do: `OBS_ACCESS_KEY_ID`, `OBS_SECRET_ACCESS_KEY`, `OBS_SECURITY_TOKEN`, `OBS_ENDPOINT`, or the
//! `HUAWEI_CLOUD_*` names of the Huawei Cloud SDKs, then `~/.obsutilconfig`. The service's own addresses are spoken to in
//! its own protocol (`Authorization: OBS …`). Other addresses (a private cloud's, one with a port) and temporary keys are
//! spoken to in the S3 protocol, which every OBS speaks as well: the native client cannot (opendal drops the port and
//! takes such a host for a bucket's own domain).

use std::collections::BTreeMap;

use opendal::Operator;
use opendal::services::Obs;
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};

use super::object::{self, Credentials};
use super::s3;
use super::s3::{Keys, sections};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::environment::Environment;
use crate::fetch::location::BucketLocation;

/// Advice on credentials.
pub(super) const CREDENTIALS: Credentials = Credentials {
    service: "OBS",
    missing: "set OBS_ACCESS_KEY_ID and OBS_SECRET_ACCESS_KEY, or add `?anonymous=true` to the location of a public bucket",
    denied: "check OBS_ACCESS_KEY_ID and OBS_SECRET_ACCESS_KEY (and OBS_SECURITY_TOKEN) or ~/.obsutilconfig; for a public \
             bucket add `?anonymous=true` to the location",
};

/// The bucket's operator.
pub(super) fn operator(at: &BucketLocation, environment: &Environment) -> Result<Operator> {
    let file = Config::read(environment);
    let endpoint = endpoint(at, environment, &file)?;
    let keys = file.keys(environment);
    let name = format!("obs://{}", at.bucket);
    match keys {
        Some(keys) if is_native(&endpoint) && keys.token.is_none() => {
            let builder = Obs::default()
                .bucket(&at.bucket)
                .endpoint(endpoint.as_str())
                .access_key_id(keys.access.expose_secret())
                .secret_access_key(keys.secret.expose_secret());
            object::operator(builder, &name)
        }
        None if !at.anonymous => Err(CREDENTIALS.missing(&name)),
        keys => {
            let region = at.region.clone().or_else(|| region_of(&endpoint));
            let region = region.as_deref().unwrap_or("cn-north-4");
            object::operator(s3::builder(at, Some(endpoint.as_str()), region, keys.as_ref(), false), &name)
        }
    }
}

/// The service's address: said in the location, in a variable or a file, or known from the region.
fn endpoint(at: &BucketLocation, environment: &Environment, file: &Config) -> Result<Url> {
    let region = || {
        let region = at.region.as_deref().or_else(|| environment.first(&["OBS_REGION", "HUAWEI_CLOUD_REGION"]))?;
        Some(format!("https://obs.{region}.myhuaweicloud.com"))
    };
    let said = at.endpoint.clone().or_else(|| at.region.as_ref().and_then(|_| region()));
    let said = said.or_else(|| environment.first(&["OBS_ENDPOINT", "HUAWEI_CLOUD_OBS_ENDPOINT"]).map(str::to_owned));
    let said = said.or_else(region).or_else(|| file.get("endpoint").map(str::to_owned));
    let name = format!("obs://{}", at.bucket);
    let said = said.ok_or_else(|| {
        Error::new(ErrorKind::Usage, &name, "its region is not known")
            .with_help("set OBS_ENDPOINT, or add ?region=cn-north-4 to the location")
    })?;
    let with_scheme = if said.contains("://") { said } else { format!("https://{said}") };
    Url::parse(&with_scheme)
        .map_err(|error| Error::new(ErrorKind::Usage, name, format!("its endpoint is wrong: {error}")))
}

/// Whether the service's own protocol can be spoken there.
fn is_native(endpoint: &Url) -> bool {
    let host = endpoint.host_str().unwrap_or_default();
    let is_public = host.starts_with("obs.") && (host.ends_with(".myhuaweicloud.com") || host.ends_with(".huawei.com"));
    is_public && endpoint.port().is_none()
}

/// The region in `obs.<region>.<domain>`.
fn region_of(endpoint: &Url) -> Option<String> {
    let mut parts = endpoint.host_str()?.split('.');
    (parts.next() == Some("obs")).then(|| parts.next().map(str::to_owned))?
}

/// obsutil's file: keys at the top level.
struct Config(BTreeMap<String, String>);

impl Config {
    fn read(environment: &Environment) -> Self {
        let path = environment.file("OBSUTIL_CONFIG", ".obsutilconfig");
        let text = path.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        Self(sections(&text).remove("").unwrap_or_default())
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    fn keys(&self, environment: &Environment) -> Option<Keys> {
        let of = |access: &str, secret: &str, token: &str| {
            Some(Keys {
                access: environment.secret(&[access])?,
                secret: environment.secret(&[secret])?,
                token: environment.secret(&[token]),
            })
        };
        let file = |key: &str| self.get(key).map(SecretString::from);
        of("OBS_ACCESS_KEY_ID", "OBS_SECRET_ACCESS_KEY", "OBS_SECURITY_TOKEN")
            .or_else(|| {
                of("HUAWEI_CLOUD_ACCESS_KEY_ID", "HUAWEI_CLOUD_SECRET_ACCESS_KEY", "HUAWEI_CLOUD_SECURITY_TOKEN")
            })
            .or_else(|| Some(Keys { access: file("ak")?, secret: file("sk")?, token: file("token") }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_public_addresses_are_spoken_to_natively() {
        for (endpoint, native, region) in [
            ("https://obs.cn-north-4.myhuaweicloud.com", true, Some("cn-north-4")),
            ("http://obs.cn-north-4.myhuaweicloud.com:8080", false, Some("cn-north-4")),
            ("https://obs.cloud.example.com", false, Some("cloud")),
            ("http://127.0.0.1:9000", false, None),
        ] {
            let url = Url::parse(endpoint).expect(endpoint);
            assert_eq!((is_native(&url), region_of(&url).as_deref()), (native, region), "{endpoint}");
        }
    }
}
