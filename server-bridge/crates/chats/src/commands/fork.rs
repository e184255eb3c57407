//! `/fork`: continues this conversation in another chat.

use super::{Command, Context};
use crate::fork::fork;
use crate::undo::address;
use crate::{Error, Posted, Result};

pub(super) const COMMAND: Command = Command {
    word: "fork",
    usage: &[
        ("/fork", "continue this conversation in a new chat; this one stays as it is"),
        ("/fork N", "the same without the last N messages; /fork #ID: only up to message #ID"),
    ],
    run: |context, argument| Box::pin(run(context, argument)),
};

async fn run(context: &Context<'_>, argument: Option<&str>) -> Result<Posted> {
    let up_to = match argument.map(address) {
        None => None,
        Some(Some(up_to)) => Some(up_to),
        Some(None) => {
            let text = "Write /fork, /fork N to leave out the last N messages, or /fork #ID to stop at that message; /rewind lists the messages.";
            return context.refusal("invalid", text).await;
        }
    };
    match fork(context.service, context.user, &context.chat.id, up_to).await {
        Ok(chat) => {
            let answer = context.notice("This conversation now also continues in a new chat.").await?;
            Ok(Posted { chat: Some(chat), ..answer })
        }
        Err(Error::Refused { kind, text }) => context.refusal(kind, &text).await,
        Err(error) => Err(error),
    }
}
