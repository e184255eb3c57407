//! Passes the events of chats, and changes of groups, to the hub's listeners.

use std::sync::Arc;

use api::event::Event;
use channels::Channels;
use chats::{ChatEvent, ChatService, Subscriber, chat_view, message_view};
use groups::Groups;
use sandbox::SandboxRouter;
use store::Store;

use super::shown;
use crate::web::hub::Hub;

/// Passes the events of chats to the listeners of the hub. Never waits.
pub(super) fn chats(hub: Arc<Hub>) -> Subscriber {
    Arc::new(move |user, event| {
        let event = match event.clone() {
            ChatEvent::Message(message) => Event::Message { message: Box::new(message_view(message)) },
            ChatEvent::Output { chat, message, channel, text, at } => Event::Output {
                chat_id: chat.to_string(),
                message_id: message.0,
                channel: channel.as_str().into(),
                text,
                at,
            },
            ChatEvent::Said { chat, message, part, text, at } => Event::Output {
                chat_id: chat.to_string(),
                message_id: message.0,
                channel: part.as_str().into(),
                text,
                at,
            },
            ChatEvent::Chat(chat) => Event::Chat { chat: chat_view(chat) },
            ChatEvent::Removed(chat) => Event::ChatRemoved { id: chat.to_string() },
            ChatEvent::ActiveRunner(active_runner) => Event::Settings { active_runner },
            ChatEvent::Control { chat, client, call, action } => {
                Event::TuiControl { client_id: client, call_id: call, chat_id: chat.to_string(), action }
            }
            ChatEvent::ServerSettings(settings) => Event::ServerSettings { settings },
        };
        hub.publish(user, &event);
    })
}

/// Creates the service of groups; its changes are sent to the clients of a group's members, and to the channels that show the
/// group's log.
pub(super) fn groups(
    chats: &ChatService,
    store: &Store,
    router: &SandboxRouter,
    (hub, channels): (&Arc<Hub>, &Channels),
    handed_max_bytes: Option<u64>,
) -> Groups {
    let (hub, showing) = (Arc::clone(hub), channels.clone());
    let tell = move |user, id| {
        hub.publish(user, &Event::Group { id });
        showing.look();
    };
    let groups = Groups::new(chats, store, router, handed_max_bytes, tell);
    chats.hooks().put(groups.clone());
    shown::offer(channels, &groups);
    groups
}
