//! `30_sender`, `32_language` and `34_asker`: the user, the language of answers, and the person who asks an agent of a group.
//!
//! Several people ask an agent of a group in the same chat. So the agent's system prompt names none of them and leaves out its owner's
//! language; the note before each message names the message's author.

use futures_util::future::BoxFuture;
use store::{Asker, Store};
use tools::Ported;

use crate::preferences;
use agent::PortResult;
use agent::engine::{Made, PromptContext, PromptPart};

/// The part `30_sender` of the prompt.
pub(super) struct Sender(pub(super) Store);

impl PromptPart for Sender {
    fn key(&self) -> &str {
        "30_sender"
    }

    fn make<'a>(&'a self, context: &'a PromptContext<'a>) -> BoxFuture<'a, Made> {
        Box::pin(sender(&self.0, context))
    }
}

/// The part `32_language` of the prompt.
pub(super) struct Language(pub(super) Store);

impl PromptPart for Language {
    fn key(&self) -> &str {
        "32_language"
    }

    fn make<'a>(&'a self, context: &'a PromptContext<'a>) -> BoxFuture<'a, Made> {
        Box::pin(language(&self.0, context))
    }
}

/// The part `34_asker` of the prompt.
pub(super) struct Asking(pub(super) Store);

impl PromptPart for Asking {
    fn key(&self) -> &str {
        "34_asker"
    }

    fn is_static(&self) -> bool {
        false
    }

    fn make<'a>(&'a self, context: &'a PromptContext<'a>) -> BoxFuture<'a, Made> {
        Box::pin(asking(&self.0, context))
    }
}

/// True if an agent of a group works in this chat.
async fn is_of_group(store: &Store, context: &PromptContext<'_>) -> PortResult<bool> {
    Ok(store.group_agent_in(context.ancestry.root()).await.ported()?.is_some())
}

/// A sentence with the user's name. Users' names are plain: a letter or digit, followed by letters, digits, `_`, `.` and `-`.
async fn sender(store: &Store, context: &PromptContext<'_>) -> Made {
    if context.ancestry.delegation().is_some() || is_of_group(store, context).await? {
        return Ok(None);
    }
    Ok(Some(format!("The user is called {}.", context.user.name)))
}

async fn language(store: &Store, context: &PromptContext<'_>) -> Made {
    if context.ancestry.delegation().is_some() {
        return Ok(None);
    }
    let set = match is_of_group(store, context).await? {
        true => None,
        false => preferences::language(store, context.user.id).await.ported()?,
    };
    Ok(Some(match set {
        Some(language) => format!("Answer in {language}, whatever language the user writes in."),
        None => "Answer in the language that the user writes in.".to_owned(),
    }))
}

/// A sentence with the name of the person whose request an agent of a group works on.
async fn asking(store: &Store, context: &PromptContext<'_>) -> Made {
    if context.ancestry.delegation().is_some() || !is_of_group(store, context).await? {
        return Ok(None);
    }
    let asker = store.asker_of_turn(context.ancestry.root(), context.ancestry.turn()).await.ported()?;
    let name = match &asker {
        Asker::Call(call) => &call.asked_by,
        Asker::Owner => &context.user.name,
        Asker::Nobody => return Ok(None),
    };
    Ok(Some(format!("The user who asks you now is called {name}.")))
}
