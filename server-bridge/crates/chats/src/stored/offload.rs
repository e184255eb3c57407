//! Long tool results, put aside: the conversation keeps a few lines of each, and an id by which the model can read the rest.

use agent::context::ContextMode;
use agent::context::offload::{is_long, shown};
use agent::tool::Outcome;
use llm::ToolCall;
use store::{ChatId, OffloadedRead, Store, UserId};

/// The text that the conversation keeps of a tool's result; `place` is where the tool ran. A long result is stored with `chat`, the
/// user's own chat, for the model of `reader`, the chat that read it: the same chat, or a sub-agent's.
///
/// Fails with the store's errors.
pub(super) async fn kept(
    store: &Store,
    (user, chat, reader): (UserId, &ChatId, &ChatId),
    call: &ToolCall,
    outcome: &Outcome,
    place: Option<&str>,
    mode: ContextMode,
) -> store::Result<String> {
    if let (Some(file), Some(place)) = (&outcome.file, place) {
        store.mark_read_again(chat, reader, place, &file.path).await?;
    }
    if !mode.offloads() || !outcome.may_be_offloaded || !is_long(&outcome.text) {
        return Ok(outcome.text.clone());
    }
    let id = format!("ol_{:08x}", rand::random::<u32>());
    let of = outcome.file.as_ref().zip(place).map(|(file, place)| OffloadedRead {
        offload_id: id.clone(),
        reader: reader.clone(),
        place: place.to_owned(),
        path: file.path.clone(),
        hash: file.hash.clone(),
        size_bytes: i64::try_from(file.size_bytes).unwrap_or(i64::MAX),
        modified_ms: file.modified_ms,
    });
    match store.put_offload(user, chat, &id, &outcome.text, of.as_ref()).await {
        Ok(()) => Ok(shown(&id, &call.name, &outcome.text)),
        // The result is longer than the store accepts, so only its beginning and end are kept, in the conversation.
        Err(store::Error::Invalid { .. }) => Ok(shown("too long to be kept", &call.name, &outcome.text)),
        Err(error) => Err(error),
    }
}
