//! `/compress`: replaces the earlier conversation with a summary.

use super::{Command, Context};
use crate::{Posted, Result, turns};

pub(super) const COMMAND: Command = Command {
    word: "compress",
    usage: &[("/compress", "replace earlier messages with a summary, to make room")],
    run: |context, _| Box::pin(run(context)),
};

async fn run(context: &Context<'_>) -> Result<Posted> {
    if !context.service.models.has_any(context.service, context.user).await? {
        return context
            .refusal(
                "invalid",
                "No model is set up that could write a summary; add one with `sandbridge model add`.",
            )
            .await;
    }
    let answer =
        context.notice("The conversation will be compressed before the model is asked again.").await?;
    turns::compress_soon(context.service, context.user, &context.chat.id);
    Ok(answer)
}
