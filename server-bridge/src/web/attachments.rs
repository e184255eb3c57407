//! Files that come with a message: they are put where the chat's work goes, and its agent opens them there.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use chats::limits::OUTPUT_IGNORE_PATH;
use futures_util::StreamExt;
use sandbox::{Sandbox, WriteOptions};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use crate::limits::{ATTACHMENT_BYTES, ATTACHMENT_ENDING_BYTES, ATTACHMENT_NAME_BYTES, ATTACHMENTS};
use crate::state::AppState;
use crate::web::auth::Caller;
use crate::web::chats::chat_id;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::routes::Routes;
use crate::web::scope::Access;

/// The routes of files with a message.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::Full, routes!(add))
}

/// Where they are, beneath the workspace: a directory of its own for each, so that it keeps its name.
const DIRECTORY: &str = ".sandbridge/attachments";

/// What they are called.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AttachmentQuery {
    /// The file's name; what a name cannot hold is replaced.
    name: String,
}

/// A file that was attached.
#[derive(Serialize, ToSchema)]
pub struct AttachmentView {
    /// Relative to the workspace: what the message names.
    path: String,
    name: String,
    /// Where it is: a runner's name, `__docker__` or `none`.
    place: String,
    size_bytes: u64,
    /// Whether the agent can look at it.
    is_image: bool,
}

/// Put a file where the chat's work goes, for a message that names its `path` among its `attachments`. At most 32 MiB.
#[utoipa::path(post, path = "/api/v1/chats/{id}/attachments", tag = "chats",
    params(("id" = String, Path), AttachmentQuery),
    request_body(content = [u8], content_type = "application/octet-stream"),
    responses((status = 201, body = AttachmentView), (status = 400), (status = 404), (status = 413), (status = 503)))]
pub async fn add(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    extract::Query(query): extract::Query<AttachmentQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<AttachmentView>), ApiError> {
    let name = safe_name(&query.name);
    let path = format!("{DIRECTORY}/{:08x}/{name}", rand::random::<u32>());
    let length =
        headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > ATTACHMENT_BYTES) {
        return Err(too_large());
    }
    let sandbox = state.chats.sandbox(&caller.user, &chat_id(&id)?).await?;
    let place = sandbox.place().to_owned();
    let written = receive(&sandbox, &path, length, body).await;
    let outcome = written.as_ref().map_or_else(|error| error.kind, |_| "ok");
    state.audit(Some(&caller.user.name), "file.write", Some(&place), &path, outcome).await;
    let (size_bytes, is_image) = written?;
    Ok((StatusCode::CREATED, Json(AttachmentView { path, name, place, size_bytes, is_image })))
}

/// The text of a message with the paths that came with it.
///
/// # Errors
/// `invalid` for too many, for paths that are none of an attachment, and with a command, which would take them for its own words.
pub(super) fn with_attachments(text: &str, paths: &[String]) -> Result<String, ApiError> {
    if paths.len() > ATTACHMENTS {
        return Err(ApiError::invalid(format!("a message has at most {ATTACHMENTS} attachments")));
    }
    if !paths.iter().all(|path| is_path(path)) {
        return Err(ApiError::invalid("attachments are paths that an upload to this chat answered with"));
    }
    let begun = text.trim_start();
    // Two slashes stand for one that is meant as it is.
    let is_command = begun.starts_with('!') || begun.starts_with('/') && !begun.starts_with("//");
    if is_command && !paths.is_empty() {
        return Err(ApiError::invalid(
            "a command takes no attachments; send them with a message of their own, and the command by itself",
        ));
    }
    let lines: Vec<String> = paths.iter().map(|path| format!("[attached: {path}]")).collect();
    Ok(match (text.trim_end(), lines.as_slice()) {
        (text, []) => text.to_owned(),
        ("", lines) => lines.join("\n"),
        (text, lines) => format!("{text}\n\n{}", lines.join("\n")),
    })
}

/// Whether an upload can have answered with it: the directory, eight hexadecimal digits and a name.
fn is_path(path: &str) -> bool {
    let inner = path.strip_prefix(DIRECTORY).and_then(|rest| rest.strip_prefix('/'));
    inner.and_then(|inner| inner.split_once('/')).is_some_and(|(own, name)| {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        own.len() == 8 && own.bytes().all(is_digit) && name == safe_name(name)
    })
}

/// Passes the body on to where it belongs; the size, and whether it begins like an image.
async fn receive(
    sandbox: &Sandbox,
    path: &str,
    size_bytes: Option<u64>,
    body: Body,
) -> Result<(u64, bool), ApiError> {
    keep_out_of_git(sandbox).await?;
    let options = WriteOptions { parents: true, size_bytes, ..WriteOptions::default() };
    let mut writer = sandbox.write_file(path.as_bytes(), options).await?;
    let (mut body, mut written_bytes, mut beginning) = (body.into_data_stream(), 0, Vec::new());
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|error| {
            ApiError::invalid(format!("the upload broke off ({error}); attach the file again"))
        })?;
        written_bytes += chunk.len() as u64;
        // The writer, dropped, leaves nothing behind.
        if written_bytes > ATTACHMENT_BYTES {
            return Err(too_large());
        }
        if beginning.len() < IMAGE_MARK_BYTES {
            beginning.extend_from_slice(&chunk[..chunk.len().min(IMAGE_MARK_BYTES - beginning.len())]);
        }
        writer.write(&chunk).await?;
    }
    Ok((writer.finish().await?, is_image(&beginning)))
}

/// As the output of commands is kept out of it.
async fn keep_out_of_git(sandbox: &Sandbox) -> Result<(), ApiError> {
    if sandbox.stat(OUTPUT_IGNORE_PATH.as_bytes()).await.is_ok() {
        return Ok(());
    }
    let options = WriteOptions { parents: true, ..WriteOptions::default() };
    let mut writer = sandbox.write_file(OUTPUT_IGNORE_PATH.as_bytes(), options).await?;
    writer.write(b"*\n").await?;
    writer.finish().await?;
    Ok(())
}

/// How much of a file says whether it is an image, in bytes.
const IMAGE_MARK_BYTES: usize = 12;

fn is_image(beginning: &[u8]) -> bool {
    let begins = |mark: &[u8]| beginning.starts_with(mark);
    begins(b"\x89PNG\r\n\x1a\n")
        || begins(b"\xff\xd8\xff")
        || begins(b"GIF87a")
        || begins(b"GIF89a")
        || begins(b"RIFF") && beginning.get(8..12) == Some(b"WEBP")
}

/// A name that is one part of a path and shows as what it is; what is too long loses its middle, not its ending.
fn safe_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain =
        |c: char| if c.is_control() || "[]\"'`$<>|*?".contains(c) || c.is_whitespace() { '_' } else { c };
    let name: String = last.chars().map(plain).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() {
        return "file".to_owned();
    }
    if name.len() <= ATTACHMENT_NAME_BYTES {
        return name.to_owned();
    }
    let ending = name.rfind('.').map_or("", |at| &name[at..]);
    let ending = if ending.len() <= ATTACHMENT_ENDING_BYTES { ending } else { "" };
    let begun = &name[..name.floor_char_boundary(ATTACHMENT_NAME_BYTES - ending.len())];
    format!("{begun}{ending}")
}

fn too_large() -> ApiError {
    let mebibytes = ATTACHMENT_BYTES / (1024 * 1024);
    ApiError::new(
        "too_large",
        format!("an attachment has at most {mebibytes} MiB; upload it as a file instead"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_one_and_harmless() {
        for (name, safe) in [
            ("shot.png", "shot.png"),
            ("../../etc/passwd", "passwd"),
            ("C:\\temp\\a b.txt", "a_b.txt"),
            ("..", "file"),
            ("", "file"),
            (".bashrc", "bashrc"),
            ("a\nb]`$(x)`", "a_b___(x)_"),
            ("图.png", "图.png"),
        ] {
            assert_eq!(safe_name(name), safe, "{name:?}");
        }
    }

    #[test]
    fn a_long_name_is_cut_by_bytes_and_keeps_its_ending() {
        assert_eq!(safe_name(&"x".repeat(1000)), "x".repeat(ATTACHMENT_NAME_BYTES));
        let name = safe_name(&format!("{}.png", "图".repeat(100)));
        assert_eq!(name, format!("{}.png", "图".repeat(65)));
        let odd = safe_name(&format!("a.{}", "图".repeat(100)));
        assert!(odd.len() <= ATTACHMENT_NAME_BYTES && odd.starts_with("a.图"), "{odd}");
        for name in [name, odd] {
            assert_eq!(safe_name(&name), name, "what was cut once stays");
        }
    }

    #[test]
    fn a_command_takes_no_attachments() {
        let path = ".sandbridge/attachments/0011aaff/a.png".to_owned();
        for command in ["!cat", " /help", "/", "\n! ls"] {
            let refused = with_attachments(command, std::slice::from_ref(&path)).unwrap_err();
            assert_eq!(refused.kind, "invalid", "{command:?}");
            assert!(with_attachments(command, &[]).is_ok());
        }
        assert!(with_attachments("//usr is full", &[path]).is_ok());
    }

    #[test]
    fn a_message_names_what_came_with_it() {
        let path = ".sandbridge/attachments/0011aaff/a.png".to_owned();
        assert_eq!(with_attachments("look", &[]).unwrap(), "look");
        assert_eq!(
            with_attachments("look ", std::slice::from_ref(&path)).unwrap(),
            "look\n\n[attached: .sandbridge/attachments/0011aaff/a.png]"
        );
        assert_eq!(
            with_attachments("", &[path]).unwrap(),
            "[attached: .sandbridge/attachments/0011aaff/a.png]"
        );
        for odd in [
            "/etc/passwd",
            ".sandbridge/attachments/../../x",
            ".sandbridge/attachments/a\nb",
            ".sandbridge/attachments-of-mine/x",
            ".sandbridge/attachments/0011aaff",
            ".sandbridge/attachments/0011aaff/",
            ".sandbridge/attachments/0011AAFF/a",
            ".sandbridge/attachments/0011aaff/..",
            ".sandbridge/attachments/0011aaff/a/b",
            ".sandbridge/attachments/0011aaff/a b",
            ".sandbridge/attachments/0011aaff/a]",
            "",
        ] {
            assert!(with_attachments("x", &[odd.to_owned()]).is_err(), "{odd:?}");
        }
        assert!(with_attachments("x", &vec![".sandbridge/attachments/0011aaff/a".to_owned(); 17]).is_err());
    }

    #[test]
    fn images_are_known_by_their_beginning() {
        assert!(is_image(b"\x89PNG\r\n\x1a\n0000") && is_image(b"RIFF0000WEBP") && is_image(b"GIF89a"));
        assert!(!is_image(b"") && !is_image(b"RIFF0000WAVE") && !is_image(b"<svg>"));
    }
}
