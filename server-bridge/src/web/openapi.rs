//! The description of the HTTP API, made from the handlers themselves.

use std::sync::OnceLock;

use axum::http::{HeaderValue, header};
use axum::response::IntoResponse;
use serde_json::{Value, json};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::web::{
    agents, answers, attachments, audit, chat_copies, chat_detail, chat_turns, chats, commands, confirm,
    container, events, exec, files, keys, mcp, models, providers, runner_updates, runners, session, settings,
    setup, sign_ins, tasks, tickets, usage, users, welcome,
};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Sandbridge",
        description = "Run commands, file operations and an agent on machines of your choice. Times are Unix \
                       milliseconds. Programs send `Authorization: Bearer TOKEN`; any error is \
                       `{\"error\":{\"kind\",\"message\"}}`."
    ),
    paths(
        session::login,
        session::logout,
        session::me,
        confirm::confirm,
        tickets::issue,
        sign_ins::issue,
        sign_ins::redeem,
        keys::list,
        keys::add,
        keys::remove,
        runners::list,
        runners::add,
        runners::rotate,
        runners::revoke,
        runner_updates::update,
        settings::show,
        settings::change,
        chats::list,
        chats::create,
        chats::remove,
        chats::messages,
        chats::post,
        chats::cancel,
        chats::approve,
        chats::set_approval,
        agents::list,
        agents::preferences,
        agents::set_preferences,
        agents::memories,
        agents::forget,
        models::list,
        models::add,
        models::change,
        models::remove,
        models::test,
        models::choose,
        models::choose_for_chat,
        providers::models,
        providers::trial,
        welcome::end,
        usage::show,
        answers::answer,
        chats::rename,
        chat_detail::show,
        attachments::add,
        commands::list,
        tasks::list,
        tasks::show,
        tasks::kill,
        users::list,
        users::add,
        users::change,
        users::remove,
        users::change_password,
        audit::list,
        setup::status,
        setup::about,
        setup::make,
        files::complete::complete,
        chat_turns::undo,
        chat_turns::rewind,
        chat_copies::fork,
        chat_copies::export,
        files::read,
        files::write,
        files::remove,
        files::stat,
        files::list,
        files::mkdir,
        files::rename,
        files::trees::read,
        files::trees::write,
        files::trees::download,
        container::show,
        container::stop,
        container::commit,
        container::export,
        container::import,
        container::reset,
        exec::connect,
        exec::user::show,
        exec::attach::list,
        exec::attach::show,
        exec::attach::cancel,
        exec::attach::report,
        events::connect,
        mcp::serve,
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

/// How a program says who it is: with a session's token, or a key of its own.
struct Bearer;

impl Modify for Bearer {
    fn modify(&self, description: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("sbk_… or sbs_…")
            .description(Some("A key made by `sandbridge key add`, or the token that a login answered with."))
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

/// The description, with what the handlers' types cannot say: what an error looks like.
pub fn document() -> Value {
    let mut document = serde_json::to_value(Description::openapi())
        .expect("a description made of texts and maps is always JSON");
    let error = json!({"description": "It was not done, and why.",
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

/// `get_chats_id` of `GET /api/v1/chats/{id}`.
fn operation_id(method: &str, path: &str) -> String {
    let words = path.trim_start_matches("/api/v1").split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty()).fold(method.to_owned(), |id, word| format!("{id}_{word}"))
}

/// Whether an answer says nothing but its status.
fn is_bare(answer: &Value) -> bool {
    answer["description"].as_str().is_none_or(str::is_empty) && answer.get("content").is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_of_the_contract_is_described() {
        let description = Description::openapi();
        for (path, methods) in [
            ("/api/v1/login", 1),
            ("/api/v1/logout", 1),
            ("/api/v1/confirm", 1),
            ("/api/v1/tickets", 1),
            ("/api/v1/sign-ins", 1),
            ("/api/v1/sign-ins/redeem", 1),
            ("/api/v1/me", 1),
            ("/api/v1/keys", 2),
            ("/api/v1/keys/{name}", 1),
            ("/api/v1/runners", 2),
            ("/api/v1/runners/{name}", 1),
            ("/api/v1/runners/{name}/rotate", 1),
            ("/api/v1/runners/{name}/update", 1),
            ("/api/v1/settings", 2),
            ("/api/v1/chats", 2),
            ("/api/v1/chats/{id}", 3),
            ("/api/v1/chats/{id}/attachments", 1),
            ("/api/v1/commands", 1),
            ("/api/v1/tasks", 1),
            ("/api/v1/tasks/{id}", 2),
            ("/api/v1/users", 2),
            ("/api/v1/users/{name}", 2),
            ("/api/v1/password", 1),
            ("/api/v1/audit", 1),
            ("/api/v1/status", 1),
            ("/api/v1/me/welcomed", 1),
            ("/api/v1/about", 1),
            ("/api/v1/setup", 1),
            ("/api/v1/files/complete", 1),
            ("/api/v1/chats/{id}/undo", 1),
            ("/api/v1/chats/{id}/rewind", 1),
            ("/api/v1/chats/{id}/fork", 1),
            ("/api/v1/chats/{id}/export", 1),
            ("/api/v1/chats/{id}/messages", 2),
            ("/api/v1/chats/{id}/cancel", 1),
            ("/api/v1/chats/{id}/agents", 1),
            ("/api/v1/settings/agent", 2),
            ("/api/v1/memories", 1),
            ("/api/v1/memories/{name}", 1),
            ("/api/v1/chats/{id}/model", 1),
            ("/api/v1/models", 2),
            ("/api/v1/models/default", 1),
            ("/api/v1/models/{name}", 2),
            ("/api/v1/models/{name}/test", 1),
            ("/api/v1/providers/models", 1),
            ("/api/v1/providers/trial", 1),
            ("/api/v1/usage", 1),
            ("/api/v1/chats/{id}/answers", 1),
            ("/api/v1/files", 3),
            ("/api/v1/files/stat", 1),
            ("/api/v1/files/list", 1),
            ("/api/v1/files/mkdir", 1),
            ("/api/v1/files/rename", 1),
            ("/api/v1/files/tree", 2),
            ("/api/v1/files/download", 1),
            ("/api/v1/container", 2),
            ("/api/v1/container/stop", 1),
            ("/api/v1/container/commit", 1),
            ("/api/v1/container/export", 1),
            ("/api/v1/container/import", 1),
            ("/api/v1/exec", 1),
            ("/api/v1/exec/user", 1),
            ("/api/v1/execs", 1),
            ("/api/v1/execs/{id}", 1),
            ("/api/v1/execs/{id}/cancel", 1),
            ("/api/v1/execs/{id}/report", 1),
            ("/api/v1/events", 1),
            ("/mcp", 1),
        ] {
            let item = &description.paths.paths[path];
            let described = [&item.get, &item.put, &item.post, &item.delete].into_iter().flatten().count();
            assert_eq!(described, methods, "{path}");
        }
        assert_eq!(description.paths.paths.len(), 70);
    }

    /// A client is typed by it alone.
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
