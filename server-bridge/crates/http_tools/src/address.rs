//! Addresses: a literal scheme, host and port, followed by a path and a query that may contain placeholders.

use percent_encoding::percent_decode_str;
use url::Url;

use crate::error::{Problem, Result};
use crate::limits::URL_BYTES;
use crate::pairs::{Pairs, check_encoded};
use crate::template::{Template, Values, percent};

/// An address with placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// Scheme, host and port, such as `https://api.example.com` or `http://127.0.0.1:8080`.
    pub(crate) origin: String,
    /// The segments of its path.
    pub(crate) path: Vec<Template>,
    /// The query that is part of its text.
    pub(crate) query: Pairs,
}

impl Address {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        if text.len() > URL_BYTES {
            return Err(Problem::new(format!("it has {} bytes; the maximum is {URL_BYTES}", text.len())));
        }
        let (scheme, rest) = ["https://", "http://"]
            .into_iter()
            .find_map(|scheme| Some((scheme, text.strip_prefix(scheme)?)))
            .ok_or_else(|| Problem::new("it must begin with https:// or http:// and a host, written out"))?;
        let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        if authority.contains(['{', '}']) {
            return Err(Problem::new(
                "a placeholder cannot be used in the host, the port or the user name: write the host out, so that no argument can change it",
            ));
        }
        if authority.contains('@') {
            return Err(Problem::new(
                "it contains a user name or password; use a header with {{secret.NAME}}",
            ));
        }
        if authority.is_empty()
            || !authority.chars().all(|c| c.is_ascii_alphanumeric() || "-._:[]".contains(c))
        {
            return Err(Problem::new(
                "its host is invalid; write an international name in its ASCII form (xn--…)",
            ));
        }
        let origin = Url::parse(&format!("{scheme}{authority}/"))
            .map_err(|error| Problem::new(format!("its host or port is invalid: {error}")))?
            .origin()
            .ascii_serialization();
        if rest.contains('#') {
            return Err(Problem::new("it has a fragment (`#`), which is never sent"));
        }
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let path = path.strip_prefix('/').unwrap_or(path).split('/').map(segment).collect::<Result<_>>()?;
        Ok(Self { origin, path, query: Pairs::encoded(query)? })
    }

    /// The address with its placeholders replaced, and with these pairs appended to its own query.
    pub(crate) fn render(&self, more: &Pairs, values: &Values<'_>) -> Result<String> {
        let segments: Vec<String> =
            self.path.iter().map(|segment| render_segment(segment, values)).collect::<Result<_>>()?;
        let path = format!("/{}", segments.join("/"));
        let queries = [self.query.render(values)?, more.render(values)?];
        let query = queries.into_iter().filter(|query| !query.is_empty()).collect::<Vec<_>>().join("&");
        let mark = if query.is_empty() { "" } else { "?" };
        let text = format!("{}{path}{mark}{query}", self.origin);
        if text.len() > URL_BYTES {
            return Err(Problem::new(format!(
                "the address would have {} bytes; the maximum is {URL_BYTES}",
                text.len()
            )));
        }
        // All parts are encoded: a parser of addresses must find exactly these parts.
        let is_same = Url::parse(&text).is_ok_and(|url| {
            url.origin().ascii_serialization() == self.origin
                && url.path() == path
                && url.query().unwrap_or_default() == query
                && url.fragment().is_none()
                && url.username().is_empty()
                && url.password().is_none()
        });
        if is_same {
            Ok(text)
        } else {
            Err(Problem::new("the arguments would change the form of the address"))
        }
    }
}

fn segment(text: &str) -> Result<Template> {
    let template = Template::parse(text)?;
    if template.secrets().next().is_some() {
        return Err(Problem::new(
            "a secret cannot be used in the path, which services and proxies log; put it into a header, the query or the body",
        ));
    }
    for text in template.texts() {
        check_encoded(text, "path")?;
    }
    if template.literal().is_some_and(leads_up) {
        return Err(Problem::new("its path contains `.` or `..` as a segment; write the path without it"));
    }
    Ok(template)
}

fn render_segment(template: &Template, values: &Values<'_>) -> Result<String> {
    if let Some(text) = template.literal() {
        return Ok(text.to_owned());
    }
    if let Some(key) = template.arguments().find(|key| values.argument(key).is_none()) {
        return Err(Problem::new(format!("the argument {key:?} is a part of the path and must be given")));
    }
    let escape = |value: &str| {
        if value.chars().any(char::is_control) {
            return Err(Problem::new("a control character cannot be used in a path"));
        }
        // The encoded value is a single segment here; a service that decodes it first must not find other segments in
        // it either.
        let decoded = percent_decode_str(value).decode_utf8_lossy();
        if [value, &decoded].into_iter().any(|value| value.split(['/', '\\']).any(leads_up)) {
            return Err(Problem::new("`.` or `..` as a part of a path is refused"));
        }
        Ok(percent(value))
    };
    let text = template.text(values, escape)?.unwrap_or_default();
    if text.is_empty() {
        return Err(Problem::new("an argument in the path is empty"));
    }
    if leads_up(&text) {
        return Err(Problem::new("`.` or `..` as a part of a path is refused"));
    }
    Ok(text)
}

/// True for a segment that leads to the parent or stays in place, encoded or not.
fn leads_up(segment: &str) -> bool {
    let decoded = percent_decode_str(segment).decode_utf8_lossy();
    matches!(&*decoded, "." | "..")
}
