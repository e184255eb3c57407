//! Tickets: when a browser fetches a download or a picture by itself, it sends no token, so the URL contains a ticket.
//!
//! A ticket is valid for one address, once, for a short time, and for the session that requested it; that session's cookie
//! is needed as well. Crate `accounts` issues and redeems tickets; every node accepts tickets of the other nodes.

use accounts::Ticket;
use api::session::{NewTicket, TicketView};
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};

use crate::limits::TICKET_PATH_BYTES;
use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of tickets.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::Session, route!(issue))
}

/// The name of the ticket's parameter, which is the last one in an address.
const PARAMETER: &str = "ticket=";

/// The prefix of the API's paths; its routes see paths without the prefix.
const API: &str = "/api/v1";
/// The paths that a ticket opens: files, archives and exports.
const DOWNLOADS: &[&str] = &["/api/v1/files", "/api/v1/files/tree", "/api/v1/container/export"];
/// The beginning and the end of a path that a ticket opens as well: the export of a chat, whose id is between them.
const CHAT_EXPORT: (&str, &str) = ("/api/v1/chats/", "/export");

/// The token of the session whose ticket is at the end of a download's URL; the ticket is not used up.
///
/// # Errors
/// If the store fails.
pub async fn shown(
    state: &AppState,
    method: &Method,
    headers: &HeaderMap,
    uri: &Uri,
) -> Result<Option<String>, ApiError> {
    let Some((address, ticket)) = uri.path_and_query().and_then(|uri| split(uri.as_str())) else {
        return Ok(None);
    };
    if method != Method::GET || !is_bare(headers) || !is_download(address) {
        return Ok(None);
    }
    Ok(state.accounts.ticket(ticket).await?.map(|ticket| ticket.token))
}

/// The session's token for a request whose URL ends with a ticket; the ticket is used up in any case.
///
/// # Errors
/// If the store fails.
pub async fn redeem(state: &AppState, parts: &Parts) -> Result<Option<String>, ApiError> {
    let Some((address, ticket)) = parts.uri.path_and_query().and_then(|uri| split(uri.as_str())) else {
        return Ok(None);
    };
    if !is_bare(&parts.headers) {
        return Ok(None);
    }
    let ticket = state.accounts.redeem_ticket(ticket).await?;
    Ok(ticket.filter(|ticket| opens(ticket, &parts.method, address)).map(|ticket| ticket.token))
}

/// Splits a URL into the part before the ticket and the ticket.
fn split(address: &str) -> Option<(&str, &str)> {
    let (address, ticket) = address.rsplit_once(PARAMETER)?;
    Some((address.strip_suffix(['?', '&'])?, ticket))
}

fn opens(ticket: &Ticket, method: &Method, address: &str) -> bool {
    method == Method::GET && ticket.address == address.strip_prefix(API).unwrap_or(address)
}

/// Request a ticket, which is valid for one address, once, within a minute: for a browser's downloads, which send no
/// Authorization header. Programs do not need tickets.
#[utoipa::path(post, path = "/api/v1/tickets", tag = "session", request_body = NewTicket,
    responses((status = 201, body = TicketView), (status = 400), (status = 403), (status = 429)))]
pub async fn issue(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(NewTicket { path }): extract::Json<NewTicket>,
) -> Result<(StatusCode, Json<TicketView>), ApiError> {
    if caller.key.is_some() {
        return Err(ApiError::new(
            "forbidden",
            "tickets are for pages; a key is sent in an Authorization header",
        ));
    }
    if path.len() > TICKET_PATH_BYTES {
        return Err(ApiError::invalid(format!("the address is longer than {TICKET_PATH_BYTES} bytes")));
    }
    if !is_download(&path) {
        return Err(ApiError::invalid("a ticket opens files, archives and exports, and nothing else"));
    }
    let address = path.strip_prefix(API).unwrap_or(&path).to_owned();
    let ticket = state.accounts.issue_ticket(&Ticket { token: caller.token, address }).await?;
    Ok((StatusCode::CREATED, Json(TicketView { ticket })))
}

fn is_download(address: &str) -> bool {
    let path = address.split_once('?').map_or(address, |(path, _)| path);
    let of_chat = || {
        let id = path.strip_prefix(CHAT_EXPORT.0)?.strip_suffix(CHAT_EXPORT.1)?;
        (!id.is_empty() && !id.contains('/')).then_some(())
    };
    DOWNLOADS.contains(&path) || of_chat().is_some()
}

/// True if a request could be one that a browser sends by itself: without a token, and not for a WebSocket.
fn is_bare(headers: &HeaderMap) -> bool {
    !headers.contains_key(header::AUTHORIZATION) && !headers.contains_key(header::UPGRADE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_the_end_of_an_address() {
        for (address, expected) in [
            (
                "/api/v1/files?path=a%20b&on=laptop&ticket=AbC",
                Some(("/api/v1/files?path=a%20b&on=laptop", "AbC")),
            ),
            ("/api/v1/container/export?ticket=AbC", Some(("/api/v1/container/export", "AbC"))),
            ("/api/v1/files?path=ticket=x&ticket=", Some(("/api/v1/files?path=ticket=x", ""))),
            ("/api/v1/files?path=ticket=x", None),
            ("/api/v1/files", None),
        ] {
            assert_eq!(split(address), expected, "{address}");
        }
    }

    #[test]
    fn a_ticket_opens_no_other_address_and_no_other_method() {
        let ticket = Ticket { token: "sbs_a".to_owned(), address: "/files?path=a%20b&on=laptop".to_owned() };
        for (method, address, expected) in [
            (Method::GET, "/api/v1/files?path=a%20b&on=laptop", true),
            (Method::GET, "/files?path=a%20b&on=laptop", true),
            (Method::PUT, "/api/v1/files?path=a%20b&on=laptop", false),
            (Method::GET, "/api/v1/files?path=other", false),
            (Method::GET, "/api/v1/keys", false),
            (Method::GET, "/api/v1/files?path=a%20b&on=laptop&on=work", false),
        ] {
            assert_eq!(opens(&ticket, &method, address), expected, "{method} {address}");
        }
    }

    #[test]
    fn only_what_is_downloaded_has_tickets() {
        for good in [
            "/api/v1/files?path=a%20b&on=laptop",
            "/api/v1/files/tree?path=.",
            "/api/v1/container/export",
            "/api/v1/chats/x/export?format=json",
        ] {
            assert!(is_download(good), "{good}");
        }
        for bad in [
            "/api/v1/keys",
            "/api/v1/files/list?path=.",
            "/api/v1/chats/x/y/export",
            "/api/v1/chats//export",
            "",
            "files",
        ] {
            assert!(!is_download(bad), "{bad}");
        }
    }
}
