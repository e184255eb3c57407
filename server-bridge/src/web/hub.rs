//! What happens, told to whoever of the user's clients listens.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use store::UserId;
use tokio::sync::broadcast;

use crate::limits::EVENT_QUEUE;
use crate::web::chats::{ChatView, MessageView};
use crate::web::runners::RunnerView;

/// One event as it travels; a socket adds its own `seq`.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A message is new or changed.
    Message {
        /// The message.
        message: Box<MessageView>,
    },
    /// A running command wrote something, or a model said something.
    Output {
        /// The chat.
        chat_id: String,
        /// The message that shows it.
        message_id: i64,
        /// `stdout` or `stderr`, `text` or `reasoning`.
        channel: &'static str,
        /// What it wrote.
        text: String,
        /// How much was told of the message before, in UTF-16 code units.
        at: u64,
    },
    /// A chat is new or changed.
    Chat {
        /// The chat.
        chat: ChatView,
    },
    /// A chat was deleted.
    ChatRemoved {
        /// Its id.
        id: String,
    },
    /// A runner is new or changed.
    Runner {
        /// The runner.
        runner: Box<RunnerView>,
    },
    /// A runner was revoked.
    RunnerRemoved {
        /// Its name.
        name: String,
    },
    /// Where the user's work goes was changed.
    Settings {
        /// The new choice; `null` lets the server choose.
        active_runner: Option<String>,
    },
    /// Something the user should know.
    Notice {
        /// `info` or `warning`.
        level: &'static str,
        /// The text.
        text: String,
    },
}

/// An event as JSON, made once for all of a user's sockets.
pub type EventText = Arc<str>;

/// The listeners of every user. Nobody waits for a slow one.
#[derive(Debug, Default)]
pub struct Hub {
    users: Mutex<HashMap<UserId, broadcast::Sender<EventText>>>,
}

impl Hub {
    /// Tells all of a user's sockets; with none there, nobody is told.
    pub fn publish(&self, user: UserId, event: &Event) {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(sender) = users.get(&user) else { return };
        if sender.receiver_count() == 0 {
            users.remove(&user);
            return;
        }
        match serde_json::to_string(event) {
            // Fails only if the last listener left this moment.
            Ok(text) => drop(sender.send(text.into())),
            Err(error) => tracing::error!(%error, "an event is no JSON"),
        }
    }

    /// Listens to what happens from now on.
    pub fn subscribe(&self, user: UserId) -> broadcast::Receiver<EventText> {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        users.entry(user).or_insert_with(|| broadcast::Sender::new(EVENT_QUEUE)).subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_reaches_its_user_and_nobody_else() {
        let hub = Hub::default();
        let (mut first, mut second) = (hub.subscribe(UserId(1)), hub.subscribe(UserId(2)));
        hub.publish(UserId(1), &Event::RunnerRemoved { name: "laptop".to_owned() });
        assert_eq!(&*first.try_recv().unwrap(), r#"{"type":"runner_removed","name":"laptop"}"#);
        assert!(second.try_recv().is_err());
    }

    #[test]
    fn who_stopped_listening_is_forgotten() {
        let hub = Hub::default();
        drop(hub.subscribe(UserId(1)));
        hub.publish(UserId(1), &Event::Settings { active_runner: None });
        assert!(hub.users.lock().unwrap().is_empty());
    }
}
