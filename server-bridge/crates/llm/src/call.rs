//! Attempts until one succeeds.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::draft::Draft;
use crate::error::Error;
use crate::message::{Message, Request};
use crate::model::Model;
use crate::reply::{Delta, Reply};
use crate::retry::Patience;
use crate::slots::Seat;

/// Progress during a call.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A piece of the answer.
    Delta(&'a Delta),
    /// The attempt failed, and all its pieces must be discarded; another attempt follows.
    Retrying {
        /// The number of the next attempt; the first one was 1.
        attempt: u32,
        /// The maximum number of attempts.
        attempts: u32,
        /// The pause before the next attempt.
        pause: Duration,
        /// The reason why the previous one failed.
        error: &'a Error,
    },
}

impl std::fmt::Display for Progress<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Delta(_) => Ok(()),
            Self::Retrying { attempt, attempts, pause, error } => {
                let pause_s = pause.as_secs_f64();
                write!(formatter, "{error}; trying again in {pause_s:.0} s ({attempt}/{attempts})")
            }
        }
    }
}

/// Asks until the model answers or retrying is pointless; holds a slot during each attempt, but not during the pauses.
///
/// A model that refuses a conversation with images is asked again without them: many have no vision, and one image that a provider rejects would
/// break every later call. A caller that continues a conversation passes the same draft again, so that only the new part is serialised. Dropping the
/// future ends it at once.
///
/// # Errors
/// The error of the last attempt.
pub async fn call(
    model: &Model,
    request: &Request,
    draft: &mut Draft,
    patience: Patience,
    seat: &Seat,
    mut each: impl FnMut(Progress<'_>),
) -> Result<Reply, Error> {
    let (mut failed, mut without_images) = (0, None);
    loop {
        let slot = seat.take().await;
        let asked = without_images.as_ref().unwrap_or(request);
        let answered = model.ask(asked, draft, |delta| each(Progress::Delta(delta))).await;
        drop(slot);
        let error = match answered {
            Ok(reply) => return Ok(reply),
            Err(error) => error,
        };
        failed += 1;
        if let (Error::Refused(why), None) = (&error, &without_images) {
            without_images = blind(request);
            if without_images.is_some() {
                let error = &Error::Refused(format!("{why}; asking without the images"));
                let (attempt, attempts) = (failed + 1, patience.attempts);
                each(Progress::Retrying { attempt, attempts, pause: Duration::ZERO, error });
                continue;
            }
        }
        let Some(pause) = patience.pause_after(failed, &error, rand::random()) else { return Err(error) };
        tracing::info!(%error, failed, ?pause, "a model did not answer");
        each(Progress::Retrying { attempt: failed + 1, attempts: patience.attempts, pause, error: &error });
        sleep(pause).await;
    }
}

/// The same request with a text in place of each image; `None` if it has no images.
fn blind(request: &Request) -> Option<Request> {
    let mut request = request.clone();
    let mut count = 0;
    for message in request.messages.iter_mut().filter(|message| shows_images(message)) {
        let content = match Arc::make_mut(message) {
            Message::User(content) => content,
            Message::Tool(result) => &mut result.content,
            Message::Assistant(_) => continue,
        };
        for image in content.iter_mut().filter(|content| content.text().is_none()) {
            *image = "(an image that you cannot see)".into();
            count += 1;
        }
    }
    (count > 0).then_some(request)
}

fn shows_images(message: &Message) -> bool {
    let content = match message {
        Message::User(content) => content,
        Message::Tool(result) => &result.content,
        Message::Assistant(_) => return false,
    };
    content.iter().any(|content| content.text().is_none())
}
