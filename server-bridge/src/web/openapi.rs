//! The description of the HTTP API, made from the handlers themselves.

use std::sync::OnceLock;

use axum::http::{HeaderValue, header};
use axum::response::IntoResponse;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::web::{
    agents, answers, chat_copies, chat_turns, chats, container, events, exec, files, keys, mcp, models,
    runners, session, settings, usage,
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
        keys::list,
        keys::add,
        keys::remove,
        runners::list,
        runners::add,
        runners::rotate,
        runners::revoke,
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
        usage::show,
        answers::answer,
        chats::rename,
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
    components(schemas(exec::ExecRequestView, exec::attach::ExecView)),
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
    let text = TEXT.get_or_init(|| {
        Description::openapi().to_json().expect("a description made of texts and maps is always valid JSON")
    });
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], text.as_str())
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
            ("/api/v1/me", 1),
            ("/api/v1/keys", 2),
            ("/api/v1/keys/{name}", 1),
            ("/api/v1/runners", 2),
            ("/api/v1/runners/{name}", 1),
            ("/api/v1/runners/{name}/rotate", 1),
            ("/api/v1/settings", 2),
            ("/api/v1/chats", 2),
            ("/api/v1/chats/{id}", 2),
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
        assert_eq!(description.paths.paths.len(), 50);
    }
}
