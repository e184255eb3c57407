//! Tickets: a browser's own fetch, of a download or a picture, carries no token, so it carries one of these in its address.
//!
//! A ticket is valid for one address, once, for a short time, and for the session that requested it; that session's cookie
//! is needed as well.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use api::session::{NewTicket, TicketView};
use axum::Json;
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::limits::{TICKET_BYTES, TICKET_LIFETIME, TICKET_PATH_BYTES, TICKETS, TICKETS_PER_SESSION};
use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of tickets.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::Session, route!(issue))
}

/// The prefix of a ticket in an address; it is the last parameter.
const PARAMETER: &str = "ticket=";

/// The prefix of the API; its routes see addresses without it.
const API: &str = "/api/v1";
/// The addresses that a ticket opens: files, and downloads like them.
const DOWNLOADS: &[&str] = &["/api/v1/files", "/api/v1/files/tree", "/api/v1/container/export"];
/// The same for chats, with an id between the two.
const CHAT_EXPORT: (&str, &str) = ("/api/v1/chats/", "/export");

/// How much of a node's id its tickets begin with, in digits.
const NODE_DIGITS: usize = 8;

/// The unused tickets, by their hashes. A node's begin with its id, so that another node knows where to send them.
#[derive(Debug, Default)]
pub struct Tickets {
    /// The beginning of this node's tickets.
    node: Option<String>,
    unused: Mutex<HashMap<[u8; 32], Ticket>>,
}

/// A ticket that a request shows.
#[derive(Debug, PartialEq, Eq)]
pub enum Shown {
    /// One of this server, with its session's token.
    Own(String),
    /// One of the node whose id begins so.
    Of(String),
}

struct Ticket {
    /// The session that requested it.
    token: String,
    path: String,
    until: Instant,
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Ticket({})", self.path)
    }
}

impl Tickets {
    /// The tickets of the node with this id, or of a server that works alone.
    pub fn new(node: Option<&str>) -> Self {
        let node = node.map(|id| id.chars().take(NODE_DIGITS).collect());
        Self { node, unused: Mutex::default() }
    }

    /// The ticket that the address of a download ends with, which stays unused; `None` if there is none.
    pub fn shown(&self, method: &Method, uri: &Uri) -> Option<Shown> {
        let (address, shown) = uri.path_and_query()?.as_str().rsplit_once(PARAMETER)?;
        if method != Method::GET || !is_download(address) {
            return None;
        }
        if let (Some((node, _)), Some(own)) = (shown.split_once('.'), &self.node)
            && node != own
        {
            return (node.len() == NODE_DIGITS).then(|| Shown::Of(node.to_owned()));
        }
        let hash: [u8; 32] = Sha256::digest(shown).into();
        let unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        unused.get(&hash).map(|ticket| Shown::Own(ticket.token.clone()))
    }

    /// A ticket of this session for one address; `None` while there are too many.
    fn issue(&self, token: &str, path: &str, now: Instant) -> Option<String> {
        let secret = URL_SAFE_NO_PAD.encode(rand::random::<[u8; TICKET_BYTES]>());
        let ticket = self.node.as_ref().map_or_else(|| secret.clone(), |node| format!("{node}.{secret}"));
        let mut tickets = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        tickets.retain(|_, ticket| ticket.until > now);
        let own = tickets.values().filter(|ticket| ticket.token == token).count();
        if tickets.len() >= TICKETS || own >= TICKETS_PER_SESSION {
            return None;
        }
        let path = path.strip_prefix(API).unwrap_or(path).to_owned();
        let made = Ticket { token: token.to_owned(), path, until: now + TICKET_LIFETIME };
        tickets.insert(Sha256::digest(&ticket).into(), made);
        Some(ticket)
    }

    /// The session's token for a request whose address ends with a ticket; the ticket is used up in any case.
    pub fn redeem(&self, method: &Method, uri: &Uri, now: Instant) -> Option<String> {
        let address = uri.path_and_query()?.as_str();
        let (path, shown) = address.rsplit_once(PARAMETER)?;
        let path = path.strip_suffix(['?', '&'])?;
        let path = path.strip_prefix(API).unwrap_or(path);
        let hash: [u8; 32] = Sha256::digest(shown).into();
        let ticket = self.unused.lock().unwrap_or_else(PoisonError::into_inner).remove(&hash)?;
        let is_good = method == Method::GET && ticket.path == path && ticket.until > now;
        is_good.then_some(ticket.token)
    }
}

/// Request a ticket, which is valid for one address, once, within a minute: for downloads of a browser, which send no
/// Authorization header. Programs need none.
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
    let ticket = state.tickets.issue(&caller.token, &path, Instant::now()).ok_or_else(|| {
        ApiError::rate_limited("downloads that were announced and not begun", TICKET_LIFETIME.as_secs())
    })?;
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

/// True if a request comes as a browser's own would: without any token.
pub fn is_bare(headers: &axum::http::HeaderMap) -> bool {
    !headers.contains_key(header::AUTHORIZATION) && !headers.contains_key(header::UPGRADE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "/api/v1/files?path=a%20b&on=laptop";

    fn shown(tickets: &Tickets, method: &Method, address: &str, now: Instant) -> Option<String> {
        tickets.redeem(method, &address.parse().unwrap(), now)
    }

    #[test]
    fn a_ticket_opens_its_address_once_and_soon() {
        let (tickets, now) = (Tickets::default(), Instant::now());
        let ticket = tickets.issue("sbs_a", PATH, now).unwrap();
        let address = format!("{PATH}&ticket={ticket}");
        assert_eq!(shown(&tickets, &Method::GET, &address, now).as_deref(), Some("sbs_a"));
        assert_eq!(shown(&tickets, &Method::GET, &address, now), None, "once");
        let bare = tickets.issue("sbs_a", "/api/v1/container/export", now).unwrap();
        let address = format!("/api/v1/container/export?ticket={bare}");
        assert!(shown(&tickets, &Method::GET, &address, now).is_some());
        let late = format!("{PATH}&ticket={}", tickets.issue("sbs_a", PATH, now).unwrap());
        assert_eq!(shown(&tickets, &Method::GET, &late, now + TICKET_LIFETIME), None);
    }

    #[test]
    fn a_ticket_opens_no_other_address_and_no_other_method() {
        let (tickets, now) = (Tickets::default(), Instant::now());
        let refused = |address: &dyn Fn(&str) -> String, method: Method| {
            let ticket = tickets.issue("sbs_a", PATH, now).unwrap();
            assert_eq!(shown(&tickets, &method, &address(&ticket), now), None, "{}", address(&ticket));
            let right = format!("{PATH}&ticket={ticket}");
            assert_eq!(shown(&tickets, &Method::GET, &right, now), None, "it is used up");
        };
        refused(&|ticket| format!("/api/v1/files?path=other&ticket={ticket}"), Method::GET);
        refused(&|ticket| format!("/api/v1/keys?ticket={ticket}"), Method::GET);
        refused(&|ticket| format!("{PATH}&on=work&ticket={ticket}"), Method::GET);
        refused(&|ticket| format!("{PATH}&ticket={ticket}"), Method::PUT);
        for guess in ["", "ticket=", "?ticket=", "AAAA"] {
            assert_eq!(shown(&tickets, &Method::GET, &format!("{PATH}&ticket={guess}"), now), None);
        }
    }

    #[test]
    fn a_nodes_ticket_names_the_node_and_is_found_without_being_used_up() {
        let (tickets, now) = (Tickets::new(Some("0123456789abcdef")), Instant::now());
        let address = |ticket: &str| format!("{PATH}&ticket={ticket}").parse::<Uri>().unwrap();
        let ticket = tickets.issue("sbs_a", PATH, now).unwrap();
        assert!(ticket.starts_with("01234567."), "{ticket}");
        for _ in 0..2 {
            assert_eq!(tickets.shown(&Method::GET, &address(&ticket)), Some(Shown::Own("sbs_a".to_owned())));
        }
        let other = Tickets::new(Some("fedcba9876543210"));
        assert_eq!(other.shown(&Method::GET, &address(&ticket)), Some(Shown::Of("01234567".to_owned())));
        assert_eq!(
            shown(&tickets, &Method::GET, &address(&ticket).to_string(), now).as_deref(),
            Some("sbs_a")
        );
        assert_eq!(other.shown(&Method::POST, &address(&ticket)), None);
        let login = format!("/api/v1/login?ticket={ticket}").parse().unwrap();
        assert_eq!(other.shown(&Method::GET, &login), None, "a ticket opens downloads alone");
        for nothing in [&ticket, "0.x", ".", ""] {
            assert_eq!(tickets.shown(&Method::GET, &address(nothing)), None, "{nothing}");
        }
    }

    #[test]
    fn a_session_has_so_many_tickets_and_old_ones_make_room() {
        let (tickets, now) = (Tickets::default(), Instant::now());
        for _ in 0..TICKETS_PER_SESSION {
            tickets.issue("sbs_a", PATH, now).unwrap();
        }
        assert_eq!(tickets.issue("sbs_a", PATH, now), None);
        assert!(tickets.issue("sbs_b", PATH, now).is_some(), "another session's do not count");
        assert!(tickets.issue("sbs_a", PATH, now + TICKET_LIFETIME).is_some());
        assert!(!format!("{tickets:?}").contains("sbs_"));
    }

    #[test]
    fn only_what_is_downloaded_has_tickets() {
        for good in [
            PATH,
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
