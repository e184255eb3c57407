//! The parts of the prompt, with one file each, and the list of all parts. To add a part, add a file here with its [`PromptPart`], its
//! `mod` line and a line to [`parts`].
//!
//! A part that may differ between two turns must return false from `is_static`, because the other parts are kept in the provider's cache;
//! the test below lists the parts that change. The time is `store.now_ms()`. Keys begin with `0` for the model's identity and
//! instructions, `1` for abilities, `2` for memory, `3` for the person, and `4` for the place.
//!
//! | key | part |
//! |---|---|
//! | `00_base` | the model's identity |
//! | `04_global_context` | the server's instructions, and the user's own except for agents of groups |
//! | `05_channel` | who reads the model's texts |
//! | `05_project_context` | the project's instructions |
//! | `06_workspace` | the workspace's documents about the agent, its user and its tools |
//! | `10_skills`, `15_agents` | the workspace's skills and roles |
//! | `11_always_skills` | skills whose text is in every prompt (crate `extensions`) |
//! | `14_perm_control` | the mode of approval (changes) |
//! | `20_memory` | core memory, or all notes, as they were at the beginning of the conversation |
//! | `22_recall` | the memories that matter to this message (changes) |
//! | `30_sender`, `32_language` | the user, and the language of answers |
//! | `34_asker` | the person who asks an agent of a group (changes) |
//! | `40_place` | the model's place of work (changes) |

mod base;
mod channel;
mod instructions;
mod library;
mod permission;
mod person;
mod place;
mod remembered;
mod workspace;

use std::sync::Arc;

use store::Store;

use crate::server_settings::LiveSettings;

use agent::engine::{PromptPart, PromptParts};
use agent::library::Library;
use memory::Meaning;

/// All parts. `settings` provides the files of the server's home directory that some parts read.
pub(crate) fn parts(
    store: &Store,
    meaning: &Meaning,
    settings: &Arc<LiveSettings>,
    library: &Library,
) -> PromptParts {
    let of_server = instructions::Global::new(store.clone(), Arc::clone(settings));
    let parts: Vec<Arc<dyn PromptPart>> = vec![
        Arc::new(base::Base(Arc::clone(settings))),
        Arc::new(of_server),
        Arc::new(channel::Channel),
        Arc::new(instructions::Project),
        Arc::new(workspace::Documents(store.clone())),
        Arc::new(library::Skills(library.clone())),
        Arc::new(permission::Permission),
        Arc::new(library::Roles(library.clone())),
        Arc::new(remembered::Memories(store.clone())),
        Arc::new(remembered::Recall(store.clone(), meaning.clone())),
        Arc::new(person::Sender(store.clone())),
        Arc::new(person::Language(store.clone())),
        Arc::new(person::Asking(store.clone())),
        Arc::new(place::Place),
    ];
    parts.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn parts_stand_in_the_order_of_their_keys_and_each_key_is_there_once() {
        let store = Store::open_in_memory().await.unwrap();
        let parts = parts(&store, &Meaning::new(store.clone()), &Arc::default(), &Library::default());
        let keys = parts.keys();
        assert!(keys.is_sorted_by(|(one, _), (next, _)| one < next), "{keys:?}");
        let changing: Vec<&str> =
            keys.iter().filter(|(_, is_static)| !is_static).map(|(key, _)| key.as_str()).collect();
        assert_eq!(changing, ["14_perm_control", "22_recall", "34_asker", "40_place"]);
    }
}
