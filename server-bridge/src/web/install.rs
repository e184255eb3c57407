//! The runner that this server hands out: the script that installs it, the program, and the line that starts both.
//!
//! All of them are public: they are the same for everyone and contain no secrets. An attacker who can change this server's responses can
//! change both the script and the hash in it, so they are only as safe as the connection: a machine relies on TLS.

use std::path::{Path, PathBuf};

use axum::body::Body;
use axum::extract::{Path as UrlPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodFilter;
use sandbox::{KnownRunner, RunnerFile};
use tower_http::services::ServeFile;

use crate::web::error::ApiError;
use crate::web::guard::{host, is_loopback};
use crate::web::routes::Routes;
use crate::web::scope::Access;
use crate::web::state::AppState;
use execs::quoted;

/// The routes of the script and the program for machines.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().undescribed(Access::Anybody, MethodFilter::GET, "/install", script).undescribed(
        Access::Anybody,
        MethodFilter::GET,
        "/download/{file}",
        download,
    )
}

const SCRIPT: &str = include_str!("install/install.sh");
/// The server's version, which is also its runner's.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The architecture of the machines that the runner is for.
const ARCH: &str = std::env::consts::ARCH;
/// The name of the program's file, before its architecture.
const PROGRAM: &str = "sandbridge-runner-linux-";
/// The suffix of a file's name for its SHA-256.
const HASH_SUFFIX: &str = ".sha256";
const VERSION_HEADER: HeaderName = HeaderName::from_static("x-sandbridge-version");

/// The runner for machines.
#[derive(Debug)]
pub struct HandOut {
    file: Option<PathBuf>,
    known: RunnerFile,
}

impl HandOut {
    /// Hands out this file, which has no requirements on the machine that runs it.
    pub fn new(file: Option<PathBuf>) -> Self {
        Self { file, known: RunnerFile::default() }
    }

    /// The version of the runner that is handed out; `None` if there is none.
    pub fn version(&self) -> Option<&'static str> {
        self.offered().ok()
    }

    /// As [`Self::version`], with an error if there is no runner to hand out.
    ///
    /// # Errors
    /// `not_found`, with what the administrator can do.
    pub fn offered(&self) -> Result<&'static str, ApiError> {
        self.file().map(|_| VERSION)
    }

    fn file(&self) -> Result<&Path, ApiError> {
        self.file.as_deref().filter(|file| file.is_file()).ok_or_else(|| {
            ApiError::new(
                "not_found",
                "this server has no runner to hand out: its administrator can build one with `scripts/build` and put \
                 sandbridge-runner-static next to the server, or name it with --runner-static",
            )
        })
    }
}

/// The details of the current file, such as its hash; the file is read at the first request after a change.
async fn known_runner(state: &AppState) -> Result<KnownRunner, ApiError> {
    let reading = {
        let state = state.clone();
        tokio::task::spawn_blocking(move || {
            let file = state.hand_out.file()?;
            state.hand_out.known.know(file).map_err(|error| ApiError::internal(&error))
        })
    };
    reading.await.map_err(|error| ApiError::internal(&error))?
}

/// `GET /install`: the script, which contains this server's address and its runner's hash and version.
pub async fn script(
    State(state): State<AppState>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<impl IntoResponse, ApiError> {
    let runner = known_runner(&state).await?;
    let base = state.public_base(host(&uri, &headers).unwrap_or("localhost"));
    let script = SCRIPT
        .replace("@SERVER@", &quoted(&base))
        .replace("@VERSION@", VERSION)
        .replace("@ARCH@", ARCH)
        .replace("@SHA256@", &runner.sha256)
        .replace("@SIZE_KIB@", &runner.size_bytes().div_ceil(1024).to_string());
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], script))
}

/// `GET /download/sandbridge-runner-linux-ARCH`: the program; with `.sha256` at the end, its hash.
pub async fn download(
    State(state): State<AppState>,
    UrlPath(file): UrlPath<String>,
    request: Request,
) -> Result<Response, ApiError> {
    let program = file.strip_suffix(HASH_SUFFIX).unwrap_or(&file);
    match program.strip_prefix(PROGRAM) {
        Some(ARCH) => {}
        Some(other) => {
            return Err(ApiError::new(
                "not_found",
                format!(
                    "this server hands out the runner for {ARCH} only, not for {other:?}: build it on such a machine with \
                     `scripts/build`, which makes dist/sandbridge-runner"
                ),
            ));
        }
        None => {
            let text = format!("there is no such download; the runner is at /download/{PROGRAM}{ARCH}");
            return Err(ApiError::new("not_found", text));
        }
    }
    let runner = known_runner(&state).await?;
    let mut response = if file == program {
        let served = ServeFile::new(&runner.path).try_call(request).await;
        served.map_err(|error| ApiError::internal(&error))?.map(Body::new)
    } else {
        format!("{}  {program}\n", runner.sha256).into_response()
    };
    response.headers_mut().insert(VERSION_HEADER, HeaderValue::from_static(VERSION));
    Ok(response)
}

/// The line to paste on a machine that has no runner yet; it fetches the script with curl if that exists, else with wget. `None` if
/// this server has no runner to hand out.
pub fn line(state: &AppState, base: &str, name: &str, token: &str) -> Option<String> {
    state.hand_out.file().ok()?;
    Some(install_line(base, name, token))
}

fn install_line(base: &str, name: &str, token: &str) -> String {
    let script = quoted(&format!("{base}/install"));
    let insecure = if is_open_to_others(base) { " --insecure" } else { "" };
    // If curl rejects the certificate, wget, which may not check it, must not be tried.
    let fetch = format!("command -v curl >/dev/null && exec curl -fsSL {script}; wget -qO- {script}");
    format!("({fetch}) | SANDBRIDGE_TOKEN={token} sh -s -- --name {name}{insecure}")
}

/// True if data for this address leaves the machine unencrypted.
pub fn is_open_to_others(base: &str) -> bool {
    base.strip_prefix("http://").is_some_and(|host| !is_loopback(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_works_with_either_tool_and_says_when_it_is_not_encrypted() {
        assert_eq!(
            install_line("http://127.0.0.1:8080", "laptop", "sbe_x"),
            "(command -v curl >/dev/null && exec curl -fsSL http://127.0.0.1:8080/install; \
             wget -qO- http://127.0.0.1:8080/install) | SANDBRIDGE_TOKEN=sbe_x sh -s -- --name laptop"
        );
        assert!(!install_line("https://b.example", "l", "t").contains("--insecure"));
        assert!(install_line("http://b.example:80", "l", "t").ends_with(" --name l --insecure"));
        assert!(install_line("http://[::1]:80", "l", "t").contains("'http://[::1]:80/install'"));
        assert!(!install_line("http://[::1]:80", "l", "t").contains("--insecure"));
    }

    #[test]
    fn every_blank_of_the_script_is_filled_in() {
        let blanks = ["@SERVER@", "@VERSION@", "@ARCH@", "@SHA256@", "@SIZE_KIB@"];
        let filled = blanks.iter().fold(SCRIPT.to_owned(), |script, blank| script.replace(blank, ""));
        assert!(!filled.contains("@\n") && blanks.iter().all(|blank| SCRIPT.contains(blank)), "{filled}");
    }
}
