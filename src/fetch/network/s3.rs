//! S3: where the service is and who asks.
//!
//! As the AWS tools do: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION`,
//! `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, then `~/.aws/credentials` and `~/.aws/config` by profile. Where these hold
//! no key, roles of the machine or the pod are asked for by opendal, as the AWS tools would.

use std::collections::BTreeMap;

use opendal::Operator;
use opendal::services::S3;
use secrecy::{ExposeSecret, SecretString};

use super::object::{self, Credentials};
use crate::error::Result;
use crate::fetch::environment::Environment;
use crate::fetch::location::BucketLocation;

/// Advice on credentials.
pub(super) const CREDENTIALS: Credentials = Credentials {
    service: "S3",
    missing: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or add `?anonymous=true` to the location of a public bucket",
    denied: "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN) or the profile in ~/.aws/credentials; \
             for a public bucket add `?anonymous=true` to the location",
};

/// Keys of one user.
pub(super) struct Keys {
    /// Access key.
    pub(super) access: SecretString,
    /// Proves it.
    pub(super) secret: SecretString,
    /// Goes with keys that expire.
    pub(super) token: Option<SecretString>,
}

/// The bucket's operator.
pub(super) fn operator(at: &BucketLocation, environment: &Environment) -> Result<Operator> {
    let profile = Profile::read(at, environment);
    let endpoint = at
        .endpoint
        .as_deref()
        .or_else(|| environment.first(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]))
        .or_else(|| profile.get("endpoint_url"));
    let region = at
        .region
        .as_deref()
        .or_else(|| environment.first(&["AWS_REGION", "AWS_DEFAULT_REGION"]))
        .or_else(|| profile.get("region"))
        .unwrap_or("us-east-1");
    let keys = if at.anonymous { None } else { profile.keys(at, environment) };
    let ec2 = !environment.is_on("AWS_EC2_METADATA_DISABLED");
    object::operator(builder(at, endpoint, region, keys.as_ref(), ec2), &format!("s3://{}", at.bucket))
}

/// A builder with everything said; without keys it asks the machine's roles, or nobody where that is wanted.
pub(super) fn builder(at: &BucketLocation, endpoint: Option<&str>, region: &str, keys: Option<&Keys>, ec2: bool) -> S3 {
    let mut builder = S3::default().bucket(&at.bucket).region(region);
    builder = match endpoint {
        Some(endpoint) => builder.endpoint(endpoint),
        None => builder.endpoint("https://s3.amazonaws.com").enable_virtual_host_style(),
    };
    if !ec2 {
        builder = builder.disable_ec2_metadata();
    }
    match keys {
        _ if at.anonymous => builder.skip_signature().disable_config_load().disable_ec2_metadata(),
        None => builder,
        Some(keys) => {
            let builder = builder
                .disable_config_load()
                .disable_ec2_metadata()
                .access_key_id(keys.access.expose_secret())
                .secret_access_key(keys.secret.expose_secret());
            match &keys.token {
                Some(token) => builder.session_token(token.expose_secret()),
                None => builder,
            }
        }
    }
}

/// One profile of the AWS tools' files, both files together.
struct Profile(BTreeMap<String, String>);

impl Profile {
    fn read(at: &BucketLocation, environment: &Environment) -> Self {
        let name = at.profile.as_deref().or_else(|| environment.first(&["AWS_PROFILE"])).unwrap_or("default");
        let mut found = BTreeMap::new();
        for (variable, path) in
            [("AWS_CONFIG_FILE", ".aws/config"), ("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials")]
        {
            let text = environment.file(variable, path).and_then(|path| std::fs::read_to_string(path).ok());
            let mut sections = sections(&text.unwrap_or_default());
            for section in [name.to_owned(), format!("profile {name}")] {
                found.extend(sections.remove(&section).unwrap_or_default());
            }
        }
        Self(found)
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// The variables' keys, unless the location names a profile; else the profile's.
    fn keys(&self, at: &BucketLocation, environment: &Environment) -> Option<Keys> {
        let of_variables = || {
            Some(Keys {
                access: environment.secret(&["AWS_ACCESS_KEY_ID"])?,
                secret: environment.secret(&["AWS_SECRET_ACCESS_KEY"])?,
                token: environment.secret(&["AWS_SESSION_TOKEN"]),
            })
        };
        let secret = |key: &str| self.get(key).map(SecretString::from);
        let of_profile = || {
            Some(Keys {
                access: secret("aws_access_key_id")?,
                secret: secret("aws_secret_access_key")?,
                token: secret("aws_session_token"),
            })
        };
        if at.profile.is_some() { of_profile() } else { of_variables().or_else(of_profile) }
    }
}

/// The sections of an INI file, as credential files of AWS and Huawei Cloud are written: `[name]`, `key = value`,
/// `#` and `;` start comments. Keys before the first section stand under the empty name.
pub(super) fn sections(text: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut sections: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    let mut current = String::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            current = name.trim().to_owned();
        } else if let Some((key, value)) = line.split_once('=') {
            let section = sections.entry(current.clone()).or_default();
            section.insert(key.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credential_files_are_read_by_section() {
        let found = sections("ak=top\n[default]\naws_access_key_id = A # kept\n; comment\n[profile x]\nregion=r\n");
        assert_eq!(found[""]["ak"], "top");
        assert_eq!(found["profile x"]["region"], "r");
        assert!(found["default"]["aws_access_key_id"].starts_with('A'));
    }
}
