//! Pulling the server's image if the engine does not have it, with progress that can be read meanwhile.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bollard::models::CreateImageInfo;
use bollard::query_parameters::CreateImageOptionsBuilder;
use futures_util::StreamExt;
use tokio::time::timeout;

use crate::backends::docker::engine::Engine;
use crate::backends::docker::errors::{said, unavailable};
use crate::error::RouteError;
use crate::facts::harmless;
use crate::limits::{DOCKER_PULL_SILENCE, DOCKER_PULL_TIMEOUT, ERROR_TEXT_BYTES};

/// One mebibyte, in bytes.
const MIB: i64 = 1024 * 1024;

/// The progress of the current pull, if there is one.
#[derive(Debug, Default)]
pub(super) struct Pull(Mutex<Option<Layers>>);

/// For each layer, the number of bytes received and the size of the layer.
type Layers = HashMap<String, (i64, i64)>;

impl Pull {
    /// The progress as text; `None` if nothing is being pulled.
    pub(super) fn progress(&self) -> Option<String> {
        let layers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (came, all) =
            layers.as_ref()?.values().fold((0, 0), |(came, all), one| (came + one.0, all + one.1));
        Some(if all == 0 {
            "it has just started".to_owned()
        } else {
            format!("{} of {} MiB", came / MIB, all / MIB)
        })
    }

    fn set(&self, layers: Option<Layers>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = layers;
    }

    fn take(&self, step: &CreateImageInfo) {
        let (Some(layer), Some(detail)) = (&step.id, &step.progress_detail) else { return };
        let (Some(came), Some(all)) = (detail.current, detail.total) else { return };
        // Extracting counts a layer's bytes again.
        if step.status.as_deref() == Some("Downloading")
            && let Some(layers) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)
        {
            layers.insert(layer.clone(), (came, all));
        }
    }
}

/// Clears the progress when the pull ends, however it ends.
struct UnderWay<'a>(&'a Pull);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

impl Engine {
    /// Pulls an image from its registry.
    pub(super) async fn pull(&self, image: &str) -> Result<(), RouteError> {
        self.pulling.set(Some(Layers::new()));
        let _under_way = UnderWay(&self.pulling);
        tracing::info!(image, "pulling the image of containers");
        let cannot = |why: &str| {
            let why = harmless(why, ERROR_TEXT_BYTES);
            unavailable(format!(
                "image {image} is not on this machine and cannot be pulled ({why}); see `docker pull {image}`, or choose another \
                 one with --docker-image"
            ))
        };
        // Without a tag, an engine would pull all tags.
        let options = CreateImageOptionsBuilder::new().from_image(&with_tag(image)).build();
        let pull = async {
            let mut steps = Box::pin(self.docker.create_image(Some(options), None, None));
            loop {
                let step = timeout(DOCKER_PULL_SILENCE, steps.next()).await;
                let silence_s = DOCKER_PULL_SILENCE.as_secs();
                match step.map_err(|_| cannot(&format!("nothing arrived for {silence_s} s")))? {
                    Some(Ok(step)) => self.pulling.take(&step),
                    Some(Err(error)) => return Err(cannot(&said(&error))),
                    None => return Ok(()),
                }
            }
        };
        let minutes = DOCKER_PULL_TIMEOUT.as_secs() / 60;
        let pulled = timeout(DOCKER_PULL_TIMEOUT, pull).await;
        pulled.unwrap_or_else(|_| Err(cannot(&format!("it took longer than {minutes} min"))))
    }
}

/// An image's name with its implied tag.
fn with_tag(image: &str) -> String {
    let last = image.rsplit('/').next().unwrap_or(image);
    if last.contains([':', '@']) { image.to_owned() } else { format!("{image}:latest") }
}

#[cfg(test)]
mod tests;
