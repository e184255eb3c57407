//! The description of the HTTP API, generated from the handlers.

use std::sync::OnceLock;

use axum::http::{HeaderValue, header};
use axum::response::IntoResponse;
use serde_json::{Value, json};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::web::routes;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Sandbridge",
        description = "Run commands, file operations and an agent on machines of your choice. Times are Unix \
                       milliseconds. Programs send `Authorization: Bearer TOKEN`; any error is \
                       `{\"error\":{\"kind\",\"message\"}}`."
    ),
    components(schemas(
        api::error::ErrorBody,
        api::exec::ExecAsk,
        api::exec::ClientFrame,
        api::exec::ServerFrame,
    )),
    modifiers(&Bearer)
)]
struct Description;

/// A program's authentication: a session's token, or a key.
struct Bearer;

impl Modify for Bearer {
    fn modify(&self, description: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("sbk_… or sbs_…")
            .description(Some("A key made by `sandbridge key add`, or the token that a login returned."))
            .build();
        let components = description.components.get_or_insert_default();
        components.add_security_scheme("bearer", SecurityScheme::Http(scheme));
        description.security = Some(vec![SecurityRequirement::new("bearer", [] as [&str; 0])]);
    }
}

/// The description as JSON.
pub async fn serve() -> impl IntoResponse {
    static TEXT: OnceLock<String> = OnceLock::new();
    let text = TEXT.get_or_init(|| document().to_string());
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], text.as_str())
}

/// Title, errors and frames, with the paths and schemas of every route.
fn described() -> utoipa::openapi::OpenApi {
    let mut description = Description::openapi();
    description.merge(routes().description());
    description
}

/// The description, completed with the shape of errors, which the handlers' types do not contain.
pub fn document() -> Value {
    let mut document =
        serde_json::to_value(described()).expect("a description made of texts and maps is always JSON");
    let error = json!({"description": "The request failed; the body contains the reason.",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorBody"}}}});
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    let operations = paths.filter_map(|(path, methods)| Some((path, methods.as_object_mut()?)));
    for (path, method, operation) in
        operations.flat_map(|(path, methods)| methods.iter_mut().map(move |(method, is)| (path, method, is)))
    {
        // A handler's name alone is not unique.
        operation["operationId"] = operation_id(method, path).into();
        if let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) {
            responses.retain(|status, answer| !status.starts_with(['4', '5']) || !is_bare(answer));
            responses.insert("default".to_owned(), error.clone());
        }
    }
    document
}

/// The id of an operation: `get_chats_id` for `GET /api/v1/chats/{id}`.
fn operation_id(method: &str, path: &str) -> String {
    let words = path.trim_start_matches("/api/v1").split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty()).fold(method.to_owned(), |id, word| format!("{id}_{word}"))
}

/// True if a response in the description has no body.
fn is_bare(answer: &Value) -> bool {
    answer["description"].as_str().is_none_or(str::is_empty) && answer.get("content").is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client can be generated from the description alone.
    #[test]
    fn every_answer_and_every_body_has_a_shape() {
        let document = document();
        let paths = document["paths"].as_object().unwrap();
        for (path, methods) in paths {
            for (method, operation) in methods.as_object().unwrap() {
                for (status, answer) in operation["responses"].as_object().unwrap() {
                    let is_empty = ["101", "202", "204", "206"].contains(&status.as_str());
                    let content = answer["content"].as_object();
                    let is_shaped = content
                        .is_some_and(|types| types.values().all(|content| content["schema"].is_object()));
                    let is_error = status.starts_with(['4', '5']);
                    assert!(is_shaped || is_empty || is_error, "{method} {path}: {status}");
                }
            }
        }
        let schemas = document["components"]["schemas"].as_object().unwrap();
        for (name, schema) in schemas {
            assert!(
                schema.get("oneOf").is_some()
                    || schema.get("allOf").is_some()
                    || schema.get("type").is_some(),
                "{name}"
            );
        }
    }
}
