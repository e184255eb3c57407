//! The bucket, its server and the credentials.

use std::fmt;

use reqwest::Url;

use crate::error::{Error, Result};
use crate::limits::PLACE_MAX_BYTES;

/// The region if none is named; servers other than Amazon's accept it.
const DEFAULT_REGION: &str = "us-east-1";

/// A part of a bucket: `s3://BUCKET[/PREFIX]`, with its server and the credentials for it.
#[derive(Clone)]
pub struct Place {
    pub(crate) bucket: String,
    /// The prefix, without a `/` at either end; may be empty.
    pub(crate) prefix: String,
    pub(crate) region: String,
    pub(crate) access_key: String,
    pub(crate) secret_key: String,
    pub(crate) session_token: Option<String>,
    /// The address of the bucket, without a `/` at its end.
    pub(crate) base: String,
    /// The server, for people: host and port.
    pub(crate) host: String,
}

impl Place {
    /// Reads a location, and the variables that AWS's tools read: `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL` (default: Amazon's server of the
    /// region), `AWS_REGION` or `AWS_DEFAULT_REGION`, `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`. An empty variable
    /// counts as missing.
    ///
    /// # Errors
    /// [`Error::Place`], [`Error::Variable`].
    pub fn parse(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let (bucket, prefix) = bucket_and_prefix(text)?;
        let variable = |name: &str| {
            variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        let region = variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION"));
        let region = region.unwrap_or_else(|| DEFAULT_REGION.to_owned());
        if !region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return Err(Error::Variable {
                name: "AWS_REGION",
                rule: "is not a region; give one such as eu-central-1",
            });
        }
        let needed = |name: &'static str| {
            let value = variable(name).filter(|value| value.bytes().all(|byte| byte.is_ascii_graphic()));
            let rule = "is missing, or has characters other than letters, digits and punctuation; the server needs it for --blobs";
            value.ok_or(Error::Variable { name, rule })
        };
        let session_token = variable("AWS_SESSION_TOKEN");
        if session_token.as_ref().is_some_and(|token| !token.bytes().all(|byte| byte.is_ascii_graphic())) {
            let rule = "has characters other than letters, digits and punctuation";
            return Err(Error::Variable { name: "AWS_SESSION_TOKEN", rule });
        }
        let (base, host) = match ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]
            .into_iter()
            .find(|name| variable(name).is_some())
        {
            Some(name) => at_endpoint(name, &variable(name).unwrap_or_default(), &bucket)?,
            // Amazon's wildcard certificate covers a single label before the region.
            None if bucket.contains('.') => {
                let host = format!("s3.{region}.amazonaws.com");
                (format!("https://{host}/{bucket}"), host)
            }
            None => {
                let host = format!("{bucket}.s3.{region}.amazonaws.com");
                (format!("https://{host}"), host)
            }
        };
        let (access_key, secret_key) = (needed("AWS_ACCESS_KEY_ID")?, needed("AWS_SECRET_ACCESS_KEY")?);
        Ok(Self { bucket, prefix, region, access_key, secret_key, session_token, base, host })
    }
}

fn bucket_and_prefix(text: &str) -> Result<(String, String)> {
    let wrong = |rule| Err(Error::Place { text: text.chars().take(PLACE_MAX_BYTES).collect(), rule });
    let Some(rest) = text.strip_prefix("s3://") else { return wrong("it does not begin with s3://") };
    if text.len() > PLACE_MAX_BYTES {
        return wrong("it is too long");
    }
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let is_of_bucket = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte);
    if !(3..=63).contains(&bucket.len())
        || !bucket.bytes().all(is_of_bucket)
        || bucket.starts_with(['.', '-'])
        || bucket.ends_with(['.', '-'])
        || bucket.contains("..")
    {
        return wrong("the name of a bucket must have 3 to 63 lower-case letters, digits, '.' and '-'");
    }
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    let is_of_prefix = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_part =
        |part: &str| !part.is_empty() && part != "." && part != ".." && part.bytes().all(is_of_prefix);
    if !prefix.is_empty() && !prefix.split('/').all(is_part) {
        return wrong(
            "a prefix can contain only letters, digits, '.', '_' and '-', with '/' between its parts",
        );
    }
    Ok((bucket.to_owned(), prefix.to_owned()))
}

/// The URL of a bucket at a given endpoint, with the bucket in the path.
fn at_endpoint(name: &'static str, endpoint: &str, bucket: &str) -> Result<(String, String)> {
    let rule = "is not an address; give https://HOST[:PORT]";
    let wrong = || Error::Variable { name, rule };
    let url = Url::parse(endpoint).map_err(|_| wrong())?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte);
    let is_fit = ["http", "https"].contains(&url.scheme())
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none()
        && url.path().bytes().all(is_plain);
    let Some(host) = url.host_str().filter(|_| is_fit) else { return Err(wrong()) };
    let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    Ok((format!("{}/{bucket}", url.as_str().trim_end_matches('/')), host))
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "s3://{}", self.bucket)?;
        if !self.prefix.is_empty() {
            write!(formatter, "/{}", self.prefix)?;
        }
        write!(formatter, " at {}", self.host)
    }
}

/// Omits the credentials.
impl fmt::Debug for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Place({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A base set of variables, plus these.
    fn with<'a>(more: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        move |name| {
            let known = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "hush")];
            let found = more.iter().chain(&known).find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        }
    }

    #[test]
    fn the_address_of_a_bucket_is_that_of_its_region_or_of_the_named_server() {
        for (text, more, base, shown) in [
            (
                "s3://data",
                &[][..],
                "https://data.s3.us-east-1.amazonaws.com",
                "s3://data at data.s3.us-east-1.amazonaws.com",
            ),
            (
                "s3://a.data/x/y/",
                &[("AWS_DEFAULT_REGION", "eu-north-1")],
                "https://s3.eu-north-1.amazonaws.com/a.data",
                "s3://a.data/x/y at s3.eu-north-1.amazonaws.com",
            ),
            (
                "s3://data",
                &[("AWS_ENDPOINT_URL", "http://10.0.0.9:9000/"), ("AWS_REGION", "")],
                "http://10.0.0.9:9000/data",
                "s3://data at 10.0.0.9:9000",
            ),
            (
                "s3://data",
                &[
                    ("AWS_ENDPOINT_URL_S3", "https://s3.example/storage/v1"),
                    ("AWS_ENDPOINT_URL", "http://no"),
                ],
                "https://s3.example/storage/v1/data",
                "s3://data at s3.example",
            ),
        ] {
            let place = Place::parse(text, with(more)).unwrap();
            assert_eq!((place.base.as_str(), place.to_string().as_str()), (base, shown));
        }
    }

    #[test]
    fn what_is_no_bucket_and_what_is_no_variable_is_refused_in_one_line() {
        let long = format!("s3://data/{}", "x".repeat(PLACE_MAX_BYTES));
        for text in [
            "",
            "data",
            "s3:/data",
            "S3://data",
            "s3://",
            "s3://ab",
            "s3://Data",
            "s3://-data",
            "s3://da..ta",
            "s3://da_ta",
            "s3://data//x",
            "s3://data/../x",
            "s3://data/x/.",
            "s3://data/a b",
            "s3://data/ü",
            "s3://data/x?y",
            "s3://u:p@data",
            &long,
        ] {
            let error = Place::parse(text, with(&[])).unwrap_err();
            assert!(
                matches!(error, Error::Place { .. }) && !error.to_string().contains('\n'),
                "{text}: {error}"
            );
        }
        for (name, value) in [
            ("AWS_ACCESS_KEY_ID", " "),
            ("AWS_SECRET_ACCESS_KEY", "a\nb"),
            ("AWS_SESSION_TOKEN", "ü"),
            ("AWS_REGION", "eu/../x"),
            ("AWS_ENDPOINT_URL_S3", "10.0.0.9:9000"),
            ("AWS_ENDPOINT_URL_S3", "ftp://10.0.0.9"),
            ("AWS_ENDPOINT_URL_S3", "https://user:secret@s3.example"),
            ("AWS_ENDPOINT_URL", "https://s3.example/?x=1"),
        ] {
            let error = Place::parse("s3://data", with(&[(name, value)])).unwrap_err();
            assert!(matches!(error, Error::Variable { name: named, .. } if named == name), "{name}: {error}");
            assert!(!error.to_string().contains("secret@"), "{error}");
        }
    }

    #[test]
    fn credentials_are_not_shown() {
        let place = Place::parse("s3://data", with(&[("AWS_SESSION_TOKEN", "token")])).unwrap();
        let shown = format!("{place} {place:?}");
        assert!(!shown.contains("hush") && !shown.contains("token"), "{shown}");
    }
}
