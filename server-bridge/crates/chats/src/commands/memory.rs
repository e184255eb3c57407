//! `/memory`: shows and changes the memories about the user; in the chat of a user's agent in a group, it shows and changes the agent's memories.

use memory::prompt::{line, quoted};
use memory::{MemoryItem, MemoryKind, MemoryScope, Standing, Write};

use super::{Command, Context};
use crate::{Error, Posted, Result};

pub(super) const COMMAND: Command = Command {
    word: "memory",
    usage: &[
        ("/memory", "show what is remembered about you"),
        ("/memory add TEXT", "remember TEXT in all chats"),
        ("/memory accept ID", "accept the proposal ID"),
        ("/memory forget ID", "forget the memory ID, reject the proposal ID, or forget a memory by its name"),
    ],
    run: |context, what| Box::pin(run(context, what)),
};

async fn run(context: &Context<'_>, what: Option<&str>) -> Result<Posted> {
    let (store, user) = (&context.service.store, context.user.id);
    let Some(what) = what else {
        let items = store.memory_items(store.memory_holder_in(user, &context.chat.id).await?).await?;
        let (proposed, kept): (Vec<_>, Vec<_>) = items.iter().partition(|item| item.is_proposed);
        let kept_line = |item: &MemoryItem| match item.superseded_by {
            Some(by) => format!("{} ({})", line(item), context.in_words(&format!("replaced by #{by}"))),
            None => line(item),
        };
        let mut lines: Vec<String> = kept.into_iter().map(kept_line).collect();
        if !proposed.is_empty() {
            lines.push(context.in_words("Proposals, which are used only if you accept them:"));
            let replacements = store.memory_replacements(user).await?;
            for proposal in proposed {
                lines.push(line(proposal));
                let of_it = replacements.iter().filter(|replaced| replaced.item_id == proposal.id);
                lines.extend(of_it.map(|replaced| {
                    let (id, text) = (replaced.replaces_id, quoted(&replaced.text));
                    format!("  - #{id}: {text} ({})", context.in_words("it would be replaced"))
                }));
            }
        }
        return match lines.is_empty() {
            true => context.notice("Nothing is remembered about you yet.").await,
            false => context.notice_as_it_is(&lines.join("\n")).await,
        };
    };
    let (word, rest) = what.split_once(char::is_whitespace).unwrap_or((what, ""));
    match (word, rest.trim()) {
        ("add", text) if !text.is_empty() => add(context, text).await,
        ("accept", id) => accept(context, id).await,
        ("forget", id) if !id.is_empty() => forget(context, id).await,
        _ => {
            context
                .refusal(
                    "invalid",
                    "Write /memory, /memory add TEXT, /memory accept ID, or /memory forget ID.",
                )
                .await
        }
    }
}

async fn add(context: &Context<'_>, text: &str) -> Result<Posted> {
    let wanted = Write {
        kind: MemoryKind::Semantic,
        scope: MemoryScope::User,
        scope_name: "",
        name: "",
        text,
        chat: Some(&context.chat.id),
        message: Some(context.said),
        supersedes: &[],
        valid_to_ms: None,
    };
    let store = &context.service.store;
    let holder = store.memory_holder_in(context.user.id, &context.chat.id).await?;
    let written = memory::write(store, holder, &wanted, Standing::Person).await;
    match written {
        Ok(written) => context.notice(&format!("Remembered as #{}.", written.item().id)).await,
        Err(error @ store::Error::Invalid { .. }) => context.refusal("invalid", &error.to_string()).await,
        Err(error) => Err(error.into()),
    }
}

async fn accept(context: &Context<'_>, id: &str) -> Result<Posted> {
    let number = id.trim_start_matches('#').parse().unwrap_or(0);
    let store = &context.service.store;
    let accepted = match store.holder_of_memory(context.user.id, number).await {
        Ok(holder) => store.accept_memory(holder, number).await,
        Err(error) => Err(error),
    };
    match accepted {
        Ok(item) => context.notice(&format!("Remembered as #{}.", item.id)).await,
        Err(store::Error::NotFound { .. }) => {
            context
                .refusal("not_found", &format!("There is no proposal {id}; /memory lists the proposals."))
                .await
        }
        Err(error @ (store::Error::Invalid { .. } | store::Error::Taken { .. })) => {
            context.refusal("invalid", &error.to_string()).await
        }
        Err(error) => Err(Error::from(error)),
    }
}

async fn forget(context: &Context<'_>, what: &str) -> Result<Posted> {
    let (store, user) = (&context.service.store, context.user.id);
    // An id can name any memory of the user; a name is looked up only among the memories that this chat shows.
    let number: Option<i64> = what.trim_start_matches('#').parse().ok();
    let numbered = match number {
        Some(number) => store.holder_of_memory(user, number).await.map(|holder| Some((holder, number))),
        None => Ok(None),
    };
    let (holder, ids) = match numbered {
        Ok(Some((holder, number))) => (holder, vec![number]),
        Ok(None) | Err(store::Error::NotFound { .. }) => {
            let holder = store.memory_holder_in(user, &context.chat.id).await?;
            let items = store.memory_items(holder).await?;
            (holder, items.iter().filter(|item| item.name == what).map(|item| item.id).collect())
        }
        Err(error) => return Err(error.into()),
    };
    if ids.is_empty() {
        return context
            .refusal("not_found", &format!("There is no memory {what}; /memory lists the memories."))
            .await;
    }
    match store.forget_memories(holder, &ids).await? {
        0 => {
            context
                .refusal("not_found", &format!("There is no memory {what}; /memory lists the memories."))
                .await
        }
        _ => context.notice(&format!("{what} is forgotten.")).await,
    }
}
