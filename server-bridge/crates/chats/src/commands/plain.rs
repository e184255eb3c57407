//! A message that is not a command: it is answered by a model, if one is set up.

use super::Context;
use crate::limits::TURNS_QUEUED;
use crate::{Posted, Result, turns};

const NO_MODEL: &str = "\
No model is set up, so nothing can answer this yet. Add one of your own: in the browser under Settings, Models, or with \
`sandbridge model add`. Or the server's administrator can set one up for everybody with

SANDBRIDGE_LLM_PROVIDER   openai or anthropic
SANDBRIDGE_LLM_BASE_URL   the address of the provider's API
SANDBRIDGE_LLM_API_KEY    the key (or SANDBRIDGE_LLM_API_KEY_FILE, a file that holds it)
SANDBRIDGE_LLM_MODEL      the name of the model

and restart the server. Commands work without a model: try !pwd, or /help.";

pub(super) async fn run(context: &Context<'_>, text: &str) -> Result<Posted> {
    let Context { service, user, chat, said, client } = context;
    if !service.models.has_any(service, user).await? {
        return context.notice(NO_MODEL).await;
    }
    match turns::post(service, user, &chat.id, (*said, text), *client).await? {
        Some(shown) => Ok(Posted { messages: vec![shown], ..Posted::default() }),
        // Messages beyond the limit are normally refused before they are stored; only messages that arrived at the same moment get here.
        None => {
            let full = format!(
                "{TURNS_QUEUED} messages are already waiting for an answer in this chat. This one will not be answered; send it again later."
            );
            context.notice(&full).await
        }
    }
}
