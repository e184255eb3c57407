//! Reads the events since the last sync.

use std::collections::HashMap;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::events::{Read, Us, change, message};
use super::{Matrix, parted};
use crate::event::{Conversation, Event, Quoted, What};
use crate::http::{Body, segment};
use crate::limits::REQUEST_TIMEOUT;
use crate::names;
use crate::platform::{End, Failure, Inbox};

/// How long the homeserver holds a request while there is nothing new.
const POLL: Duration = Duration::from_secs(25);
/// How long this server waits for the response; after that, the connection counts as dead.
const POLL_PATIENCE: Duration = Duration::from_secs(40);
/// The limits on events of a room in one sync; older events are looked up. If a response is too large, the next limit is tried; with 0, the sync
/// contains no room events and only returns the new position.
const TIMELINE_LIMITS: [usize; 4] = [50, 5, 1, 0];
/// The limit on pages of a room's older events that are looked up.
const OLDER_PAGES_MAX: usize = 100;
/// The number of events in a page; with the data that a homeserver adds, they stay below the size limit of a response.
const PAGE: usize = 50;
/// The limit on a room's older events that are kept, in number and in bytes; the newest ones are kept.
const OLDER_MAX: usize = 1000;
const OLDER_MAX_BYTES: usize = 8 << 20;
/// After this many bytes of text, the events read so far are committed, but without the new position, because more events follow.
const COMMIT_BYTES: usize = 2 << 20;

/// The message that is sent once to a room whose messages cannot be read.
const ENCRYPTED: &str = "I cannot read encrypted messages. Please write to me in a room without encryption.\n我无法读取加密消息，请在未加密的房间里给我发消息。";

impl Matrix {
    /// Syncs repeatedly, until the connection fails.
    pub(super) async fn sync(&self, inbox: &dyn Inbox, us: &Us) -> End {
        let mut since = inbox.cursor().await;
        let mut limits = TIMELINE_LIMITS.iter();
        let mut limit = limits.next().copied().unwrap_or_default();
        loop {
            match self.look(since.as_deref(), limit).await {
                Ok(None) => match limits.next() {
                    Some(smaller) => limit = *smaller,
                    None => return End::Lost("the homeserver's responses are too large".to_owned()),
                },
                Ok(Some(batch)) => {
                    inbox.alive();
                    if limit == 0 && since.is_some() {
                        inbox.gap("more events arrived at once than the server reads; messages up to now may have been missed");
                        self.members().clear();
                    }
                    limits = TIMELINE_LIMITS.iter();
                    limit = limits.next().copied().unwrap_or_default();
                    match self.handle(&batch, since.as_deref(), inbox, us).await {
                        Ok(next) => since = Some(next),
                        Err(end) => return end,
                    }
                }
                // The homeserver no longer knows this position: it was restored from a backup, or it is a different homeserver.
                Err(Failure::Message(_)) if since.is_some() => {
                    inbox.gap("the homeserver no longer knows up to where messages were read; messages up to now may have been missed");
                    since = None;
                }
                Err(failure) => return self.ended(failure),
            }
        }
    }

    /// Syncs once, with at most `limit` events of each room; `None` if the response is too large. The first sync, and one without events, contains
    /// only invitations.
    async fn look(&self, since: Option<&str>, limit: usize) -> Result<Option<Value>, Failure> {
        let none = json!({"types": []});
        let (state, timeline) = if since.is_none() || limit == 0 {
            (none.clone(), none.clone())
        } else {
            (
                json!({"lazy_load_members": true, "include_redundant_members": true}),
                json!({"limit": limit, "lazy_load_members": true}),
            )
        };
        let filter = json!({
            "presence": none, "account_data": none,
            "room": {
                "ephemeral": none, "account_data": none,
                "state": state, "timeline": timeline,
            },
        });
        let mut path = format!("client/v3/sync?set_presence=online&filter={}", segment(&filter.to_string()));
        if let Some(since) = since {
            path.push_str(&format!("&timeout={}&since={}", POLL.as_millis(), segment(since)));
        }
        self.ask_sized(Method::GET, &path, Body::Empty, POLL_PATIENCE).await
    }

    /// Hands over a batch; returns the position after it. The first sync is used only for its position, because earlier messages are history.
    async fn handle(
        &self,
        batch: &Value,
        since: Option<&str>,
        inbox: &dyn Inbox,
        us: &Us,
    ) -> Result<String, End> {
        let Some(next) = batch["next_batch"].as_str() else {
            return Err(End::Lost("the homeserver's response contains no next_batch".to_owned()));
        };
        let rooms = |kind: &str| batch["rooms"][kind].as_object().into_iter().flatten();
        for (room, invited) in rooms("invite") {
            self.join(room, inviter(invited, us)).await.map_err(|failure| self.ended(failure))?;
        }
        let mut events = Vec::new();
        if let Some(since) = since {
            for (room, news) in rooms("join") {
                events.extend(self.read(room, news, since, inbox, us).await?);
                if events.iter().map(size).sum::<usize>() > COMMIT_BYTES {
                    self.commit(std::mem::take(&mut events), None, inbox).await?;
                }
            }
            for (room, news) in rooms("leave") {
                self.members().remove(room);
                let timeline = news["timeline"]["events"].as_array().into_iter().flatten();
                events.extend(timeline.filter_map(|event| change(room, true, event, us)).next_back());
            }
        }
        if events.is_empty() && since == Some(next) {
            return Ok(next.to_owned());
        }
        self.commit(events, Some(next.to_owned()), inbox).await?;
        Ok(next.to_owned())
    }

    /// Commits events. If no position is given, they arrive again after a crash, and the inbox recognises them.
    async fn commit(&self, events: Vec<Event>, next: Option<String>, inbox: &dyn Inbox) -> Result<(), End> {
        let taken = inbox.take(events, next).await;
        taken.map_err(|why| End::Lost(format!("the events could not be stored: {why}")))
    }

    /// Accepts an invitation; one that was withdrawn is ignored.
    async fn join(&self, room: &str, server: Option<&str>) -> Result<(), Failure> {
        let via = server.map_or(String::new(), |server| format!("?via={0}&server_name={0}", segment(server)));
        let path = format!("client/v3/join/{}{via}", segment(room));
        match self.ask(Method::POST, &path, Body::Json(json!({})), POLL_PATIENCE).await {
            Ok(_) => Ok(()),
            Err(Failure::Closed(why) | Failure::Message(why)) => {
                tracing::info!(room, why, "a Matrix invitation cannot be accepted");
                Ok(())
            }
            Err(failure) => Err(failure),
        }
    }

    async fn read(
        &self,
        room: &str,
        news: &Value,
        since: &str,
        inbox: &dyn Inbox,
        us: &Us,
    ) -> Result<Vec<Event>, End> {
        let ended = |failure| self.ended(failure);
        let timeline = &news["timeline"];
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let mut events = list(&timeline["events"]);
        let ours = |event: &Value| event["type"] == "m.room.member" && event["state_key"] == json!(us.id);
        let mut names = HashMap::new();
        let known = list(&news["state"]["events"]);
        for event in known.iter().chain(&events) {
            if event["type"] == "m.room.member" {
                let name = event["content"]["displayname"].as_str().unwrap_or_default();
                names.insert(event["state_key"].as_str().unwrap_or_default().to_owned(), name.to_owned());
                self.members().remove(room);
            }
        }
        // The homeserver sends the number when a person joins or leaves.
        let count =
            news["summary"]["m.joined_member_count"].as_u64().and_then(|count| usize::try_from(count).ok());
        if let Some(count) = count {
            self.members().insert(room.to_owned(), count);
        }
        let joins = |events: &[Value]| events.iter().any(|event| ours(event) && is_joining(event));
        if timeline["limited"] == json!(true) && !joins(&events) {
            let from = timeline["prev_batch"].as_str().unwrap_or_default();
            let mut older = self.older(room, from, since, inbox).await.map_err(ended)?;
            older.append(&mut events);
            events = older;
        }
        // Messages from before the invitation were not addressed to the account.
        if joins(&events) {
            let first = events.iter().position(ours).unwrap_or(0);
            events.drain(..first);
        }
        let (mut found, mut bytes) = (Vec::new(), 0);
        for event in &events {
            if bytes > COMMIT_BYTES {
                self.commit(std::mem::take(&mut found), None, inbox).await?;
                bytes = 0;
            }
            let sender = event["sender"].as_str().unwrap_or_default();
            match event["type"].as_str() {
                Some("m.room.message" | "m.sticker") if sender != us.id => {
                    let name = names.get(sender).map_or("", String::as_str);
                    let is_group = self.is_group(room).await.map_err(ended)?;
                    if let Some(read) = message(room, is_group, event, name, us) {
                        let read = self.quoted(read, us).await.map_err(ended)?;
                        bytes += size(&read);
                        found.push(read);
                    }
                }
                Some("m.room.encrypted") if sender != us.id => self.tell_encrypted(room).await,
                Some("m.room.member" | "m.room.tombstone") => {
                    let mut change = change(room, true, event, us);
                    if let Some(Event { what, .. }) = &mut change
                        && let What::Moved { to } = &*what
                    {
                        let server = sender.split_once(':').map(|(_, server)| server);
                        if !self.moves(room, to, server).await.map_err(ended)? {
                            *what = What::Removed;
                        }
                    }
                    found.extend(change);
                }
                _ => {}
            }
        }
        Ok(found)
    }

    /// Returns the events between a position and the current sync that [`Matrix::read`] reads, the oldest first, within the limits [`OLDER_MAX`] and
    /// [`OLDER_MAX_BYTES`].
    async fn older(
        &self,
        room: &str,
        from: &str,
        since: &str,
        inbox: &dyn Inbox,
    ) -> Result<Vec<Value>, Failure> {
        let (mut events, mut from, mut bytes) = (Vec::new(), from.to_owned(), 0);
        'pages: for _ in 0..OLDER_PAGES_MAX {
            let path = format!(
                "client/v3/rooms/{}/messages?dir=b&from={}&to={}&limit={PAGE}",
                segment(room),
                segment(&from),
                segment(since)
            );
            let page = self.ask_sized(Method::GET, &path, Body::Empty, REQUEST_TIMEOUT).await?;
            let Some(mut page) = page else { break };
            let chunk = match page["chunk"].take() {
                Value::Array(chunk) => chunk,
                _ => Vec::new(),
            };
            let is_last = chunk.is_empty();
            for event in chunk.into_iter().filter(is_read) {
                bytes += event.to_string().len();
                if events.len() >= OLDER_MAX || bytes > OLDER_MAX_BYTES {
                    break 'pages;
                }
                events.push(event);
            }
            match page["end"].as_str() {
                Some(end) if !is_last => from = end.to_owned(),
                _ => {
                    events.reverse();
                    return Ok(events);
                }
            }
        }
        inbox.gap("a room has more new messages than the server looks up; the oldest ones were missed");
        events.reverse();
        Ok(events)
    }

    /// Joins the room that is said to replace another one; returns true if the new room names the old one as its predecessor. Otherwise it is
    /// an unrelated room with other people.
    async fn moves(&self, room: &str, to: &str, server: Option<&str>) -> Result<bool, Failure> {
        self.join(to, server).await?;
        match self.get(&format!("client/v3/rooms/{}/state/m.room.create", segment(to))).await {
            Ok(created) => Ok(created["predecessor"]["room_id"] == json!(room)),
            // The account could not join the room.
            Err(Failure::Closed(_) | Failure::Message(_)) => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// True if more than one other person can read a room.
    async fn is_group(&self, room: &str) -> Result<bool, Failure> {
        if let Some(count) = self.members().get(room) {
            return Ok(*count > 2);
        }
        match self.count(room).await {
            Ok(count) => Ok(count > 2),
            // The account is no longer in the room.
            Err(Failure::Closed(_) | Failure::Message(_)) => Ok(true),
            Err(failure) => Err(failure),
        }
    }

    /// Asks how many people are in a room.
    pub(super) async fn count(&self, room: &str) -> Result<usize, Failure> {
        let path = format!("client/v3/rooms/{}/joined_members", segment(room));
        let members = self.ask_sized(Method::GET, &path, Body::Empty, REQUEST_TIMEOUT).await?;
        let joined = members.as_ref().and_then(|members| members["joined"].as_object());
        let count = joined.map_or(usize::MAX, serde_json::Map::len);
        self.members().insert(room.to_owned(), count);
        Ok(count)
    }

    /// Converts a message to an event with the message that it replies to, if that one can be read.
    async fn quoted(&self, read: Read, us: &Us) -> Result<Event, Failure> {
        let Read { mut event, answers } = read;
        let (Some(id), What::Message(message)) = (answers, &mut event.what) else { return Ok(event) };
        let room = parted(&event.conversation.id).0;
        let quoted =
            match self.get(&format!("client/v3/rooms/{}/event/{}", segment(room), segment(&id))).await {
                Ok(quoted) => quoted,
                Err(Failure::Closed(_) | Failure::Message(_)) => Value::Null,
                Err(failure) => return Err(failure),
            };
        message.quoted = Some(Quoted {
            id,
            text: names::text(quoted["content"]["body"].as_str().unwrap_or_default()),
            is_ours: quoted["sender"] == json!(us.id),
        });
        Ok(event)
    }

    /// Informs a room, once, that its messages cannot be read.
    async fn tell_encrypted(&self, room: &str) {
        if !self.told.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(room.to_owned()) {
            return;
        }
        let content = json!({"msgtype": "m.notice", "body": ENCRYPTED, "m.mentions": {}});
        let to = Conversation { id: room.to_owned(), is_group: true };
        // A failure is only logged: the notice is tried again after the next start, and nothing depends on it.
        if let Err(failure) = self.put(&to, content, &Value::Null, "encrypted").await {
            tracing::info!(room, %failure, "the notice that encrypted messages cannot be read could not be sent to a room");
        }
    }
}

/// True for an event that concerns the account.
fn is_read(event: &Value) -> bool {
    matches!(
        event["type"].as_str(),
        Some("m.room.message" | "m.sticker" | "m.room.encrypted" | "m.room.member" | "m.room.tombstone")
    )
}

/// The size of an event's texts, in bytes.
fn size(event: &Event) -> usize {
    match &event.what {
        What::Message(message) => {
            message.text.len() + message.quoted.as_ref().map_or(0, |quoted| quoted.text.len())
        }
        _ => 0,
    }
}

/// True for the event by which the account joins a room; false for one that changes only its name.
fn is_joining(event: &Value) -> bool {
    event["content"]["membership"] == "join" && event["unsigned"]["prev_content"]["membership"] != "join"
}

/// The server of the person who invites, through which the room can be joined.
fn inviter<'a>(invited: &'a Value, us: &Us) -> Option<&'a str> {
    let events = invited["invite_state"]["events"].as_array()?;
    let ours =
        events.iter().find(|event| event["type"] == "m.room.member" && event["state_key"] == json!(us.id))?;
    ours["sender"].as_str()?.split_once(':').map(|(_, server)| server)
}
