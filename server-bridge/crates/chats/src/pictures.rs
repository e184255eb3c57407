//! The images among a message's attachments, for models with vision.
//!
//! They are added to the message in addition to its text, which names the paths. A model without vision uses the paths; if its provider
//! refuses the images, the model is asked without them.

use llm::Content;
use sandbox::Sandbox;
use store::{ChatId, User};
use tokio::time::{Instant, timeout_at};

use crate::attachments::attached;
use crate::house::House;
use crate::limits::{SHOWN_IMAGES, SHOWN_IMAGES_BYTES, SHOWN_IMAGES_TIMEOUT};

/// The images attached to a message. For those that cannot be read in time, or are too large, only the path remains.
pub(crate) async fn of_message(house: &House, user: &User, chat: &ChatId, text: &str) -> Vec<Content> {
    let (mut images, mut room) = (Vec::new(), SHOWN_IMAGES_BYTES);
    let until = Instant::now() + SHOWN_IMAGES_TIMEOUT;
    for (path, place) in attached(text) {
        if images.len() == SHOWN_IMAGES {
            break;
        }
        let look =
            async { agent::tool::image::of_file(&sandbox(house, user, chat, place).await?, path).await };
        let Ok(found) = timeout_at(until, look).await else {
            tracing::info!(%chat, "an attached image was not read in time; the model gets only its path");
            break;
        };
        let Some(Content::Image { media_type, data }) = found else { continue };
        if let Some(left) = room.checked_sub(data.len()) {
            room = left;
            images.push(Content::Image { media_type, data });
        }
    }
    images
}

/// The machine that has an attachment: the one that the attachment names, or the chat's. This neither starts a machine nor waits for one.
async fn sandbox(house: &House, user: &User, chat: &ChatId, place: Option<&str>) -> Option<Sandbox> {
    let store = &house.store;
    let request = match place {
        Some(place) => execs::route_request(store, user.id, Some(place)).await,
        None => execs::chat_route_request(store, user.id, Some(chat)).await,
    };
    house.router.for_user_at_once(&execs::sandbox_user(user), &request.ok()?).await.ok()
}
