//! A tool: the checked fields of its document.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::address::Address;
use crate::body::{Body, JSON, Used};
use crate::error::{Problem, Result};
use crate::extract::Extract;
use crate::limits::{
    DESCRIPTION_BYTES, HEADER_BYTES, HEADER_VALUE_BYTES, MAX_TIMEOUT_MS, MIN_TIMEOUT_MS, NAME_CHARS, PAIRS,
    PLACE_CHARS, TIMEOUT_MS, WIRE_PREFIX,
};
use crate::pairs::Pairs;
use crate::parameters::Parameters;
use crate::request::Request;
pub use crate::template::is_secret_name;
use crate::template::{Template, Values, plain};

/// The fields that a document may have.
const FIELDS: [&str; 11] = [
    "name",
    "description",
    "method",
    "url",
    "headers",
    "queryParams",
    "bodyTemplate",
    "parameters",
    "responseExtract",
    "timeout",
    "via",
];

/// The methods that a tool may use.
const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/// A tool, read from its document.
#[derive(Clone, Debug)]
pub struct HttpTool {
    document: Value,
    name: String,
    description: String,
    method: &'static str,
    address: Address,
    headers: Headers,
    query: Pairs,
    body: Option<Body>,
    parameters: Parameters,
    extract: Extract,
    timeout_ms: u64,
    via: Option<String>,
    secrets: BTreeSet<String>,
}

impl HttpTool {
    /// Reads a document and checks it completely.
    ///
    /// # Errors
    /// [`Problem`] names the field that is wrong.
    pub fn parse(document: &Value) -> Result<Self> {
        let Value::Object(fields) = document else { return Err(Problem::new("a tool is a JSON object")) };
        if let Some(unknown) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
            let known = FIELDS.join(", ");
            return Err(Problem::new(format!("there is no field {unknown:?}; the fields are {known}")));
        }
        let field = |name: &str| fields.get(name).filter(|value| !value.is_null());
        let text = |name: &'static str| match field(name) {
            None => Ok(""),
            Some(Value::String(text)) => Ok(text.as_str()),
            Some(_) => Err(Problem::new(format!("`{name}` must be a string"))),
        };
        let name = text("name")?;
        check_name(name)?;
        let description = text("description")?.trim();
        if description.is_empty() || description.len() > DESCRIPTION_BYTES {
            return Err(Problem::new(format!(
                "`description` must have 1 to {DESCRIPTION_BYTES} bytes: models choose a tool by it"
            )));
        }
        let method = method(text("method")?)?;
        let address = Address::parse(text("url")?).map_err(|problem| problem.of("`url`"))?;
        let (headers, content_type) =
            headers(object(fields, "headers")?).map_err(|problem| problem.of("`headers`"))?;
        let query = object(fields, "queryParams")?.map(Pairs::object).transpose();
        let query = query.map_err(|problem| problem.of("`queryParams`"))?.unwrap_or_default();
        let is_template = |value: &&Value| value.as_str().is_none_or(|text| !text.trim().is_empty());
        let body = field("bodyTemplate").filter(is_template);
        if body.is_some() && matches!(method, "GET" | "HEAD") {
            return Err(Problem::new(format!(
                "`bodyTemplate`: a {method} request has no body; use `queryParams`"
            )));
        }
        let body = body.map(|template| Body::parse(template, content_type.as_deref())).transpose();
        let body = body.map_err(|problem| problem.of("`bodyTemplate`"))?;
        let parameters =
            Parameters::parse(field("parameters")).map_err(|problem| problem.of("`parameters`"))?;
        let extract =
            Extract::parse(text("responseExtract")?).map_err(|problem| problem.of("`responseExtract`"))?;
        let mut used = Used::default();
        address.path.iter().for_each(|template| used.see(template));
        let pairs = address.query.0.iter().chain(&query.0).chain(&headers);
        pairs.for_each(|(_, template)| used.see(template));
        if let Some(body) = &body {
            body.templates(&mut |template| used.see(template));
        }
        if let Some(unknown) = used.arguments.iter().find(|name| !parameters.has(name)) {
            return Err(Problem::new(format!(
                "`{{{{{unknown}}}}}` is not a parameter; add it to `parameters`"
            )));
        }
        Ok(Self {
            document: document.clone(),
            name: name.to_owned(),
            description: description.to_owned(),
            method,
            address,
            headers,
            query,
            body,
            parameters,
            extract,
            timeout_ms: timeout(field("timeout"))?,
            via: place(text("via")?)?,
            secrets: used.secrets,
        })
    }

    /// The document that it was read from.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// The tool's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name by which models call it: `http__NAME`.
    pub fn wire_name(&self) -> String {
        format!("{WIRE_PREFIX}{}", self.name)
    }

    /// The text that explains to models what the tool does.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The method of its requests, in upper case.
    pub fn method(&self) -> &'static str {
        self.method
    }

    /// True if its method only reads, by the definition of HTTP.
    pub fn only_reads(&self) -> bool {
        matches!(self.method, "GET" | "HEAD")
    }

    /// The scheme, host and port of all its requests: its secrets are bound to them.
    pub fn origin(&self) -> &str {
        &self.address.origin
    }

    /// The tool's host, without the scheme, and with the port if that is not the default.
    pub fn host(&self) -> &str {
        self.address.origin.split_once("://").map_or("", |(_, host)| host)
    }

    /// The runner from whose network its requests are sent; `None` if the server sends them.
    pub fn via(&self) -> Option<&str> {
        self.via.as_deref()
    }

    /// The scope to which its secrets are bound: its scheme, host and port, and the network in which they are. The same private address
    /// is a different machine in each network.
    pub fn bound_to(&self) -> String {
        with_via(self.origin(), self.via())
    }

    /// The tool's host, as people see it, with the runner through which it is reached.
    pub fn host_shown(&self) -> String {
        with_via(self.host(), self.via())
    }

    /// The JSON schema of its arguments, for models.
    pub fn schema(&self) -> &Value {
        self.parameters.schema()
    }

    /// The names of its parameters.
    pub fn parameter_names(&self) -> impl Iterator<Item = &str> {
        self.parameters.names()
    }

    /// The names of the secrets that it uses.
    pub fn secrets(&self) -> &BTreeSet<String> {
        &self.secrets
    }

    /// The time limit of a request, in milliseconds.
    pub fn timeout_ms(&self) -> u64 {
        self.timeout_ms
    }

    /// The names of its headers.
    pub fn header_names(&self) -> impl Iterator<Item = &str> {
        self.headers.iter().map(|(name, _)| name.as_str())
    }

    /// The part of a response that a model reads.
    pub fn extract(&self) -> &Extract {
        &self.extract
    }

    /// The request for a call with these arguments and secrets.
    ///
    /// # Errors
    /// [`Problem`] if an argument is missing or wrong, or cannot be used in its position, or if a secret is missing.
    pub fn render(
        &self,
        arguments: &Map<String, Value>,
        secrets: &BTreeMap<String, String>,
    ) -> Result<Request> {
        self.rendered(arguments, &|name| secrets.get(name).cloned())
    }

    /// The request for a call, as people may see it: each secret's value is replaced with the secret's name.
    ///
    /// # Errors
    /// [`Problem`] as for [`HttpTool::render`], except for missing secrets.
    pub fn render_shown(&self, arguments: &Map<String, Value>) -> Result<Request> {
        self.rendered(arguments, &|name| Some(format!("SECRET.{name}")))
    }

    fn rendered(
        &self,
        arguments: &Map<String, Value>,
        secret: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Request> {
        let arguments = self.parameters.check(arguments)?;
        let values = Values { arguments: &arguments, secret };
        let url = self.address.render(&self.query, &values)?;
        let mut headers = Vec::new();
        for (name, template) in &self.headers {
            let Some(value) = template.text(&values, header_value)? else { continue };
            if value.len() > HEADER_VALUE_BYTES {
                let bytes = value.len();
                return Err(Problem::new(format!(
                    "the header {name} would have {bytes} bytes; the maximum is {HEADER_VALUE_BYTES}"
                )));
            }
            headers.push((name.clone(), value));
        }
        let body = self.body.as_ref().map(|body| body.render(&values)).transpose()?;
        let has_type = self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if body.is_some() && !has_type {
            headers.push(("Content-Type".to_owned(), JSON.to_owned()));
        }
        Ok(Request { method: self.method, url, headers, body })
    }
}

fn with_via(host: &str, via: Option<&str>) -> String {
    via.map_or_else(|| host.to_owned(), |via| format!("{host} via {via}"))
}

/// The value of `via`, if there is one.
fn place(name: &str) -> Result<Option<String>> {
    if name.is_empty() {
        return Ok(None);
    }
    if !is_place(name) {
        return Err(Problem::new(PLACE_RULE));
    }
    Ok(Some(name.to_owned()))
}

/// The rule of [`is_place`], in words.
pub const PLACE_RULE: &str = "`via` must be the name of one of your runners, as `sandbridge runner list` shows it, or `__docker__` for your container";

/// True if a text can be the name of a place to send requests from: a runner's name, `__docker__`, or `none` for the server itself. `auto` is not
/// valid, because it could mean a different network each time.
pub fn is_place(name: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '.' | '-');
    let is_first = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    (1..=PLACE_CHARS).contains(&name.len())
        && name.starts_with(is_first)
        && name.chars().all(is_inner)
        && name != "auto"
}

/// Checks a tool's name.
///
/// # Errors
/// [`Problem`] with the rule for names.
pub fn check_name(name: &str) -> Result<()> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !(1..=NAME_CHARS).contains(&name.len()) || !name.chars().all(is_letter) {
        return Err(Problem::new(format!("`name` must have 1 to {NAME_CHARS} letters, digits, `_` or `-`")));
    }
    Ok(())
}

fn method(word: &str) -> Result<&'static str> {
    let word = if word.is_empty() { "GET" } else { word };
    METHODS
        .into_iter()
        .find(|method| method.eq_ignore_ascii_case(word))
        .ok_or_else(|| Problem::new(format!("`method` must be one of {}", METHODS.join(", "))))
}

fn timeout(value: Option<&Value>) -> Result<u64> {
    let Some(value) = value else { return Ok(TIMEOUT_MS) };
    value.as_u64().filter(|value| (MIN_TIMEOUT_MS..=MAX_TIMEOUT_MS).contains(value)).ok_or_else(|| {
        Problem::new(format!(
            "`timeout` must be a number of milliseconds from {MIN_TIMEOUT_MS} to {MAX_TIMEOUT_MS}"
        ))
    })
}

fn object<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<Option<&'a Map<String, Value>>> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(fields)) => Ok(Some(fields)),
        Some(_) => Err(Problem::new(format!("`{name}` must be an object"))),
    }
}

/// Headers, each a name and a template.
type Headers = Vec<(String, Template)>;

/// The headers, and the content type if one is set.
fn headers(fields: Option<&Map<String, Value>>) -> Result<(Headers, Option<String>)> {
    let (mut headers, mut content_type) = (Vec::new(), None);
    let mut names = BTreeSet::new();
    for (name, value) in fields.into_iter().flatten() {
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if name.is_empty() || !name.chars().all(is_token) {
            return Err(Problem::new(format!("{name:?} is not a valid name of a header")));
        }
        let lower = name.to_ascii_lowercase();
        if lower == "accept-encoding" {
            return Err(Problem::new("Accept-Encoding cannot be set: responses are read uncompressed"));
        }
        if !names.insert(lower.clone()) {
            return Err(Problem::new(format!("{name} occurs twice")));
        }
        if value.is_array() || value.is_object() || value.is_null() {
            return Err(Problem::new(format!("the value of {name} must be a string")));
        }
        let template = plain(value).and_then(|text| Template::parse(&text));
        let template = template.map_err(|problem| problem.of(name))?;
        for text in template.texts() {
            header_value(text).map_err(|problem| problem.of(name))?;
            if text.len() > HEADER_BYTES {
                return Err(Problem::new(format!(
                    "{name} has {} bytes; the maximum is {HEADER_BYTES}",
                    text.len()
                )));
            }
        }
        if lower == "content-type" {
            let Some(kind) = template.literal() else {
                return Err(Problem::new(
                    "Content-Type cannot contain a placeholder: it decides how the body is written",
                ));
            };
            content_type = Some(kind.to_owned());
        }
        headers.push((name.clone(), template));
    }
    if headers.len() > PAIRS {
        return Err(Problem::new(format!("there are {}; the maximum is {PAIRS}", headers.len())));
    }
    Ok((headers, content_type))
}

/// Checks the value of a header, which must be on one line.
fn header_value(value: &str) -> Result<String> {
    if value.chars().any(char::is_control) {
        return Err(Problem::new("a line break or another control character cannot be used in a header"));
    }
    Ok(value.to_owned())
}

#[cfg(test)]
mod tests;
