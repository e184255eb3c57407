//! `/memory`: shows what is remembered about the user.

use super::{Command, Context};
use crate::{Posted, Result};

pub(super) const COMMAND: Command = Command {
    word: "memory",
    usage: &[
        ("/memory", "show what is remembered about you"),
        ("/memory forget NAME", "forget the memory NAME; chats that already know it keep it"),
    ],
    run: |context, what| Box::pin(run(context, what)),
};

async fn run(context: &Context<'_>, what: Option<&str>) -> Result<Posted> {
    let (store, user) = (&context.service.store, context.user.id);
    let Some(what) = what else {
        let kept = store.memories(user).await?;
        let lines: Vec<String> =
            kept.iter().map(|memory| format!("{}: {}", memory.name, memory.text)).collect();
        return match lines.is_empty() {
            true => context.notice("Nothing is remembered about you yet.").await,
            false => context.notice_as_it_is(&lines.join("\n")).await,
        };
    };
    match what.strip_prefix("forget ").map(str::trim) {
        Some(name) if store.forget(user, name).await? => {
            context.notice(&format!("{name} is forgotten.")).await
        }
        Some(name) => {
            context
                .refusal("not_found", &format!("There is no memory named {name}; /memory lists them."))
                .await
        }
        None => context.refusal("invalid", "Write /memory, or /memory forget NAME.").await,
    }
}
