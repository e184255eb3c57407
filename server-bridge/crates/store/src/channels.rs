//! Chats reached from messengers: accounts, links, and every message on its way in and out.
//!
//! | module | contents |
//! |---|---|
//! | `accounts` | bots on messengers, each with its sealed secrets |
//! | `links` | the users with whom people on messengers are linked, the codes that link them, and groups |
//! | `bindings` | conversations that are bound to a group of people and agents |
//! | `inbox` | events from messengers, each recorded once |
//! | `answers` | answers that are not yet complete |
//! | `outbox` | messages to messengers |
//! | `drafts` | the beginnings of answers that are being written |
//! | `notices` | the administrator's chat: the link that gets the server's notices, and the events that were reported there |
//! | `presses` | the buttons and numbered answers of questions |

mod accounts;
mod answers;
mod bindings;
mod drafts;
mod inbox;
mod links;
mod notices;
mod outbox;
mod presses;
#[cfg(test)]
mod tests;

pub(crate) use accounts::place;
pub use accounts::{ChannelAccount, ChannelDraft};
pub use answers::{ChannelAnswer, HeldConversation, NewAnswer};
pub use bindings::{ChannelBinding, EndedQuestion, EntryToShow, ShownLog};
pub use drafts::{OrphanDraft, ShownDraft, draft_source};
pub use inbox::{ChannelEvent, ChannelLane, InboxState, NewEvent, TakenEvents};
pub use links::{ChannelLink, Person, Redeemed};
pub use notices::NoticeLink;
pub use outbox::{NewOutgoing, OutState, OutboxCounts, Outgoing};
pub use presses::{NewPress, OpenAsk, Press};
