//! What a model is told before and beside the conversation: parts with keys, put together in the order of these.
//!
//! ```text
//!   parts that stay the same ─▶ the system prompt, in front of all: a provider's cache holds it, and what was said behind it
//!   parts that change        ─▶ a note in front of the user's next message, wherever it differs from the one before
//! ```
//! So nothing that was sent is ever sent differently, as long as the user's files and settings stay as they are. All parts are
//! made anew at each turn, side by side. A new part: a file here, and a row of [`PARTS`].
//!
//! | key | part |
//! |---|---|
//! | `00_base` | who the model is told to be |
//! | `04_global_context` | the server's instructions, and the user's own |
//! | `05_channel` | who reads what it writes |
//! | `05_project_context` | the project's instructions |
//! | `10_skills`, `15_agents` | what the workspace offers |
//! | `14_perm_control` | what may be done without asking (changes) |
//! | `20_memory` | what is kept of the user, as it was when the conversation began |
//! | `30_sender`, `32_language` | who speaks, and how to answer |
//! | `40_place` | where it works (changes) |

mod base;
mod channel;
mod instructions;
mod library;
mod memory;
mod note;
mod permission;
mod person;
mod place;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::{BoxFuture, try_join_all};
use llm::SystemPart;
use sandbox::{Sandbox, SandboxError};
use store::{ChatId, User};

use super::agents::Lineage;
use crate::approval::Mode;
use crate::service::Inner;
pub(super) use note::put as put_note;

/// What parts are made of.
pub(super) struct Scene<'a> {
    pub(super) service: &'a Arc<Inner>,
    pub(super) user: &'a User,
    pub(super) chat: &'a ChatId,
    pub(super) lineage: &'a Lineage,
    pub(super) mode: Mode,
    /// Where the work is done; why there is no place where there is none.
    pub(super) sandbox: Result<&'a Sandbox, &'a str>,
}

/// All parts, put together.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Prompt {
    pub(super) system: Vec<SystemPart>,
    /// What may be another one at the next turn.
    pub(super) note: String,
}

/// Why a part could not be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum PartError {
    #[error(transparent)]
    Away(#[from] SandboxError),
    #[error(transparent)]
    Store(#[from] store::Error),
}

type Made = Result<Option<String>, PartError>;

/// A row of the table.
struct Part {
    /// Where it stands among the others.
    key: &'static str,
    /// Whether it stays the same from turn to turn, as a rule.
    is_static: bool,
    /// Makes it; nothing where it has nothing to say.
    make: for<'a> fn(&'a Scene<'a>) -> BoxFuture<'a, Made>,
}

/// All parts, by key.
const PARTS: &[Part] = &[
    Part { key: "00_base", is_static: true, make: |_| Box::pin(async { Ok(Some(base::TEXT.to_owned())) }) },
    Part { key: "04_global_context", is_static: true, make: |scene| Box::pin(instructions::global(scene)) },
    Part {
        key: "05_channel",
        is_static: true,
        make: |scene| Box::pin(async { Ok(Some(channel::part(scene))) }),
    },
    Part { key: "05_project_context", is_static: true, make: |scene| Box::pin(instructions::project(scene)) },
    Part { key: "10_skills", is_static: true, make: |scene| Box::pin(library::skills(scene)) },
    Part {
        key: "14_perm_control",
        is_static: false,
        make: |scene| Box::pin(async { Ok(Some(permission::part(scene.mode).to_owned())) }),
    },
    Part { key: "15_agents", is_static: true, make: |scene| Box::pin(library::agents(scene)) },
    Part { key: "20_memory", is_static: true, make: |scene| Box::pin(memory::part(scene)) },
    Part { key: "30_sender", is_static: true, make: |scene| Box::pin(async { Ok(person::sender(scene)) }) },
    Part { key: "32_language", is_static: true, make: |scene| Box::pin(person::language(scene)) },
    Part { key: "40_place", is_static: false, make: |scene| Box::pin(place::part(scene)) },
];

/// Makes all parts and puts them together.
///
/// Fails where the place is away, or the store fails.
pub(super) async fn assemble(scene: &Scene<'_>) -> Result<Prompt, PartError> {
    let made = try_join_all(PARTS.iter().map(|part| (part.make)(scene))).await?;
    let told = PARTS.iter().zip(made).filter_map(|(part, text)| Some((part.key, (part.is_static, text?))));
    let by_key: BTreeMap<&str, (bool, String)> = told.collect();
    let (mut system, mut news) = (Vec::new(), Vec::new());
    for (is_static, text) in by_key.into_values() {
        if is_static {
            system.push(SystemPart { text, is_static: true });
        } else {
            news.push(text);
        }
    }
    Ok(Prompt { system, note: news.join("\n") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stand_in_the_order_of_their_keys_and_each_key_is_there_once() {
        let keys: Vec<&str> = PARTS.iter().map(|part| part.key).collect();
        assert!(keys.is_sorted_by(|one, next| one < next), "{keys:?}");
        let changing: Vec<&str> = PARTS.iter().filter(|part| !part.is_static).map(|part| part.key).collect();
        assert_eq!(changing, ["14_perm_control", "40_place"]);
    }
}
