//! Sends the chats' events to every subscriber in one order, and keeps them for clients that connect later.

use std::sync::{Arc, PoisonError, RwLock, Weak};

use execs::Recorded;
use store::{MessageId, UserId};
use tools::Clients;

use crate::ChatEvent;
use crate::live::{LivePiece, LiveTexts};

/// Receives the events of users' chats. It must not block: each subscriber has its own cursor and buffer.
pub type Subscriber = Arc<dyn Fn(UserId, &ChatEvent) + Send + Sync>;

/// Sends the chats' events to every subscriber. Cheap to clone; all clones share the same subscribers.
#[derive(Clone, Default)]
pub struct Bus(Arc<Shared>);

#[derive(Default)]
struct Shared {
    texts: LiveTexts,
    subscribers: RwLock<Vec<Subscriber>>,
}

/// A subscription, which ends when this value is dropped.
pub struct Subscription {
    bus: Weak<Shared>,
    subscriber: Subscriber,
}

impl Bus {
    /// Sends each later event to `subscriber` as well, until the returned subscription is dropped.
    #[must_use = "a subscription ends when it is dropped"]
    pub fn subscribe(&self, subscriber: Subscriber) -> Subscription {
        self.0.subscribers.write().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&subscriber));
        Subscription { bus: Arc::downgrade(&self.0), subscriber }
    }

    /// Sends an event to all subscribers.
    pub(crate) fn send(&self, user: UserId, mut event: ChatEvent) {
        // Held until the event is sent, so that events are sent in the order in which they are counted.
        let mut texts = self.0.texts.write();
        match &mut event {
            ChatEvent::Output { message, channel, text, at, .. } => {
                *at = texts.add(*message, channel.as_str(), text);
            }
            ChatEvent::Said { message, part, text, at, .. } => {
                *at = texts.add(*message, part.as_str(), text);
            }
            ChatEvent::Message(message) => texts.changed(message),
            ChatEvent::Chat(_)
            | ChatEvent::Removed(_)
            | ChatEvent::ActiveRunner(_)
            | ChatEvent::Control { .. }
            | ChatEvent::ServerSettings(_) => {}
        }
        for subscriber in &*self.0.subscribers.read().unwrap_or_else(PoisonError::into_inner) {
            subscriber(user, &event);
        }
    }

    /// True if any event was sent for a message in progress.
    pub(crate) fn knows(&self, message: MessageId) -> bool {
        self.0.texts.knows(message)
    }

    /// The newest 256 KiB of the live text of a message in progress.
    pub(crate) fn live(&self, message: MessageId) -> Vec<LivePiece> {
        self.0.texts.of(message)
    }

    /// Forgets the live text of a message that no longer needs it.
    pub(crate) fn forget(&self, message: MessageId) {
        self.0.texts.write().forget(message);
    }
}

impl Clients for Bus {
    fn active_runner_changed(&self, user: UserId, choice: Option<&str>) {
        self.send(user, ChatEvent::ActiveRunner(choice.map(str::to_owned)));
    }

    fn exec_ended(&self, user: UserId, recorded: &Recorded) {
        if let Some(message) = recorded.message() {
            self.send(user, ChatEvent::Message(message.clone()));
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(bus) = self.bus.upgrade() {
            let mut subscribers = bus.subscribers.write().unwrap_or_else(PoisonError::into_inner);
            subscribers.retain(|subscriber| !Arc::ptr_eq(subscriber, &self.subscriber));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn every_subscriber_gets_all_events_in_one_order_until_it_leaves() {
        let bus = Bus::default();
        let listen = || {
            let heard = Arc::new(Mutex::new(Vec::new()));
            let ears = Arc::clone(&heard);
            let subscriber: Subscriber = Arc::new(move |user, event| {
                ears.lock().unwrap().push((user, event.clone()));
            });
            (bus.subscribe(subscriber), heard)
        };
        let ((one, first), (_two, second)) = (listen(), listen());
        let laptop = |user| bus.active_runner_changed(UserId(user), Some("laptop"));
        laptop(1);
        laptop(2);
        drop(one);
        laptop(3);
        let users = |heard: &Mutex<Vec<(UserId, ChatEvent)>>| -> Vec<i64> {
            heard.lock().unwrap().iter().map(|(user, _)| user.0).collect()
        };
        assert_eq!((users(&first), users(&second)), (vec![1, 2], vec![1, 2, 3]));
    }
}
