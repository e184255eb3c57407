//! Converts one operation to a tool's document.

use serde_json::{Map, Value, json};

use super::refs::Refs;
use super::{clean, fields, items};
use crate::error::{Problem, Result};
use crate::limits::{DESCRIPTION_BYTES, KEY_CHARS};

/// An operation of a document.
pub(super) struct Item<'a> {
    pub(super) root: &'a Value,
    pub(super) server: &'a str,
    pub(super) path: &'a str,
    /// The item of its path, with the fields that all its operations share.
    pub(super) item: &'a Value,
    pub(super) method: &'a str,
    pub(super) operation: &'a Value,
    pub(super) name: &'a str,
}

/// The document that is being built.
#[derive(Default)]
struct Draft {
    path: String,
    headers: Map<String, Value>,
    query: Map<String, Value>,
    properties: Map<String, Value>,
    required: Vec<Value>,
    body: Option<Value>,
}

/// The media types of bodies; the first supported one is chosen.
#[derive(Clone, Copy, PartialEq)]
enum Media {
    Json,
    Form,
    Text,
}

/// The document of an operation's tool.
pub(super) fn operation<'a>(item: &Item<'a>, refs: &mut Refs<'a>) -> Result<Value> {
    if matches!(item.method, "options" | "trace") {
        return Err(Problem::new("its method is not supported"));
    }
    for place in [item.item, item.operation] {
        if place.get("servers").is_some_and(|servers| servers.get(0).is_some()) {
            return Err(Problem::new("it has its own server"));
        }
    }
    let mut draft = Draft { path: item.path.to_owned(), ..Draft::default() };
    for parameter in parameters(item, refs)? {
        draft.parameter(parameter, refs)?;
    }
    if let Some(body) = item.operation.get("requestBody") {
        let body = refs.follow(body)?;
        let is_required = body.get("required") == Some(&Value::Bool(true));
        match draft.body(body, is_required, refs) {
            Ok(()) => {}
            Err(problem) if is_required => return Err(problem.of("its body")),
            Err(problem) => refs.note("its body", &problem),
        }
    }
    draft.security(item, refs)?;
    if draft.path.replace("{{", "").contains('{') {
        return Err(Problem::new("its path has a placeholder without a parameter"));
    }
    let mut document = json!({
        "name": item.name,
        "description": description(item),
        "method": item.method.to_uppercase(),
        "url": format!("{}{}", item.server, draft.path),
        "headers": draft.headers,
        "queryParams": draft.query,
        "parameters": {"type": "object", "properties": draft.properties, "required": draft.required},
    });
    if let Some(body) = draft.body {
        document["bodyTemplate"] = body;
    }
    Ok(document)
}

/// The parameters of an operation: its own take precedence over those of its path.
fn parameters<'a>(item: &Item<'a>, refs: &mut Refs<'a>) -> Result<Vec<&'a Value>> {
    let mut all: Vec<&Value> = Vec::new();
    for parameter in items(item.operation.get("parameters")).chain(items(item.item.get("parameters"))) {
        let parameter = refs.follow(parameter)?;
        let is_same =
            |known: &&&Value| ["in", "name"].iter().all(|field| known.get(field) == parameter.get(field));
        if !all.iter().any(|known| is_same(&known)) {
            all.push(parameter);
        }
    }
    Ok(all)
}

fn description(item: &Item<'_>) -> String {
    let text = |field| item.operation.get(field).and_then(Value::as_str).map(str::trim).unwrap_or_default();
    let (summary, details) = (text("summary"), text("description"));
    let mut about = match (summary, details) {
        ("", "") => format!("{} {}", item.method.to_uppercase(), item.path),
        ("", details) => details.to_owned(),
        (summary, "") => summary.to_owned(),
        (summary, details) => format!("{summary}\n{details}"),
    };
    about.truncate(about.floor_char_boundary(DESCRIPTION_BYTES));
    about
}

impl Draft {
    fn parameter<'a>(&mut self, parameter: &'a Value, refs: &mut Refs<'a>) -> Result<()> {
        let text = |field| parameter.get(field).and_then(Value::as_str).unwrap_or_default();
        let (name, place) = (text("name"), text("in"));
        // These headers are set from the body and the security schemes.
        let is_ours =
            ["accept", "content-type", "authorization"].contains(&name.to_ascii_lowercase().as_str());
        if place == "header" && is_ours {
            return Ok(());
        }
        let is_required = parameter.get("required") == Some(&Value::Bool(true)) || place == "path";
        match simple_schema(parameter, name, place, refs) {
            Ok(schema) => {
                let key = self.key(name, place);
                let value = json!(format!("{{{{{key}}}}}"));
                match place {
                    "path" => {
                        let wanted = format!("{{{name}}}");
                        if !self.path.contains(&wanted) {
                            return Err(Problem::new(format!(
                                "its path has no placeholder for the parameter {name:?}"
                            )));
                        }
                        self.path = self.path.replace(&wanted, &format!("{{{{{key}}}}}"));
                    }
                    "query" => {
                        self.query.insert(name.to_owned(), value);
                    }
                    _ => {
                        self.headers.insert(name.to_owned(), value);
                    }
                }
                self.property(key, schema, is_required);
                Ok(())
            }
            Err(problem) if is_required => Err(problem.of(&format!("its parameter {name:?}"))),
            Err(problem) => {
                refs.note(&format!("the parameter {name:?}"), &problem);
                Ok(())
            }
        }
    }

    /// A name for a parameter that differs from those of all other parameters.
    fn key(&self, name: &str, place: &str) -> String {
        let cut = |text: String| text[..text.len().min(KEY_CHARS - 4)].to_owned();
        let is_letter = |c: char| matches!(c, '_' | '-' | '.');
        let plain = cut(clean(name, is_letter).replace("secret.", "secret_"));
        let plain = if plain.is_empty() { "value".to_owned() } else { plain };
        let with_place = cut(format!("{place}_{plain}"));
        let numbered = (2..).map(|number| format!("{with_place}_{number}"));
        [plain, with_place.clone()]
            .into_iter()
            .chain(numbered)
            .find(|key| !self.properties.contains_key(key))
            .unwrap_or(with_place)
    }

    fn property(&mut self, key: String, schema: Value, is_required: bool) {
        if is_required {
            self.required.push(json!(key));
        }
        self.properties.insert(key, schema);
    }

    fn body<'a>(&mut self, body: &'a Value, is_required: bool, refs: &mut Refs<'a>) -> Result<()> {
        let kinds: Vec<(&String, &Value)> = fields(body.get("content")).collect();
        let find = |wanted: Media| kinds.iter().find(|(kind, _)| media(kind) == Some(wanted)).copied();
        let chosen = [Media::Json, Media::Form, Media::Text]
            .into_iter()
            .find_map(|wanted| find(wanted).map(|(kind, content)| (wanted, kind, content)));
        let Some((media, kind, content)) = chosen else {
            let kinds: Vec<&str> = kinds.iter().map(|(kind, _)| kind.as_str()).collect();
            return Err(Problem::new(format!(
                "it is of a kind that is not supported ({})",
                kinds.join(", ")
            )));
        };
        let schema = match content.get("schema") {
            Some(schema) => refs.schema(schema)?,
            None => json!({}),
        };
        let kind = if kind.contains('*') { "application/json" } else { kind };
        let properties = schema.get("properties").and_then(Value::as_object);
        let is_open = schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false));
        let is_composed = ["allOf", "anyOf", "oneOf"].iter().any(|keyword| schema.get(keyword).is_some());
        match properties.filter(|_| media != Media::Text && !is_open && !is_composed) {
            Some(properties) => {
                let mut template = Map::new();
                for (name, about) in properties {
                    if media == Media::Form && is_object(about) {
                        return Err(Problem::new(format!(
                            "its field {name:?} is an object, which a form cannot contain"
                        )));
                    }
                    let key = self.key(name, "body");
                    template.insert(name.clone(), json!(format!("{{{{{key}}}}}")));
                    let is_needed = is_required && items(schema.get("required")).any(|needed| needed == name);
                    self.property(key, about.clone(), is_needed);
                }
                self.body = Some(json!(Value::Object(template).to_string()));
            }
            None if media == Media::Form => {
                return Err(Problem::new("its form has no named fields"));
            }
            None => {
                let key = self.key("body", "body");
                self.body = Some(json!(match media {
                    Media::Json => format!("\"{{{{{key}}}}}\""),
                    Media::Form | Media::Text => format!("{{{{{key}}}}}"),
                }));
                let mut schema = if media == Media::Text { json!({"type": "string"}) } else { schema };
                if let (Some(about), Value::Object(schema)) = (body.get("description"), &mut schema) {
                    schema.entry("description").or_insert_with(|| about.clone());
                }
                self.property(key, schema, is_required);
            }
        }
        self.headers.insert("Content-Type".to_owned(), json!(kind));
        Ok(())
    }

    /// Adds the secrets for the first supported security requirement of the operation.
    fn security<'a>(&mut self, item: &Item<'a>, refs: &mut Refs<'a>) -> Result<()> {
        let Some(requirements) = item.operation.get("security").or_else(|| item.root.get("security")) else {
            return Ok(());
        };
        let mut unsupported = None;
        for requirement in items(Some(requirements)) {
            let schemes: Result<Vec<_>> =
                fields(Some(requirement)).map(|(name, _)| scheme(item.root, name, refs)).collect();
            match schemes {
                Ok(schemes) => {
                    for (place, name, value) in schemes {
                        let fields = if place == "query" { &mut self.query } else { &mut self.headers };
                        fields.insert(name, json!(value));
                    }
                    return Ok(());
                }
                Err(problem) => unsupported = Some(problem),
            }
        }
        unsupported.map_or(Ok(()), Err)
    }
}

/// The schema of a parameter that has one value, or a list of values, in one of the simple styles.
fn simple_schema<'a>(parameter: &'a Value, name: &str, place: &str, refs: &mut Refs<'a>) -> Result<Value> {
    let plain_style = match place {
        "path" | "header" => "simple",
        "query" => "form",
        "cookie" => return Err(Problem::new("cookies are not supported")),
        _ => return Err(Problem::new("its `in` is not path, query or header")),
    };
    if name.is_empty() || name.contains(['{', '}']) {
        return Err(Problem::new("its name is invalid"));
    }
    if let Some(style) = parameter.get("style").filter(|style| *style != plain_style) {
        return Err(Problem::new(format!("its style {style} is not supported")));
    }
    let Some(schema) = parameter.get("schema") else {
        return Err(Problem::new("it has no `schema`"));
    };
    let mut schema = refs.schema(schema)?;
    if is_object(&schema) {
        return Err(Problem::new("it is an object"));
    }
    let is_list = schema.get("type").is_some_and(|kind| kind == "array");
    if is_list && place == "query" && parameter.get("explode") == Some(&Value::Bool(false)) {
        return Err(Problem::new("a list with `explode: false` is not supported"));
    }
    if let (Some(about), Value::Object(schema)) = (parameter.get("description"), &mut schema) {
        schema.insert("description".to_owned(), about.clone());
    }
    Ok(schema)
}

fn is_object(schema: &Value) -> bool {
    schema.get("properties").is_some() || schema.get("type").is_some_and(|kind| kind == "object")
}

fn media(kind: &str) -> Option<Media> {
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match kind.as_str() {
        "application/json" | "*/*" | "application/*" => Some(Media::Json),
        "application/x-www-form-urlencoded" => Some(Media::Form),
        kind if kind.ends_with("+json") => Some(Media::Json),
        kind if kind.starts_with("text/") && kind != "text/*" => Some(Media::Text),
        _ => None,
    }
}

/// A security scheme: `header` or `query`, the name there, and the template of its value.
fn scheme<'a>(root: &'a Value, name: &str, refs: &mut Refs<'a>) -> Result<(&'static str, String, String)> {
    let schemes = root.get("components").and_then(|components| components.get("securitySchemes"));
    let Some(scheme) = schemes.and_then(|schemes| schemes.get(name)) else {
        return Err(Problem::new(format!("its security scheme {name:?} is not in the document")));
    };
    let scheme = refs.follow(scheme)?;
    let text = |field| scheme.get(field).and_then(Value::as_str).unwrap_or_default();
    let secret = clean(name, |c| c == '_');
    let secret = format!("{{{{secret.{}}}}}", &secret[..secret.len().min(KEY_CHARS)]);
    match (text("type"), text("in"), text("scheme").to_ascii_lowercase().as_str()) {
        ("apiKey", "header", _) => Ok(("header", text("name").to_owned(), secret)),
        ("apiKey", "query", _) => Ok(("query", text("name").to_owned(), secret)),
        ("http", _, "bearer") => Ok(("header", "Authorization".to_owned(), format!("Bearer {secret}"))),
        _ => Err(Problem::new(format!(
            "its security scheme {name:?} is not supported; supported are keys in a header or the query, and bearer tokens"
        ))),
    }
}
