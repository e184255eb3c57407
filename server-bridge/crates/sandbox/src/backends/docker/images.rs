//! Calls to the Docker engine for images, and for archives of images and containers.

use std::io;

use bollard::models::{ContainerConfig, ImageInspect};
use bollard::query_parameters::{
    CommitContainerOptionsBuilder, CreateImageOptionsBuilder, DownloadFromContainerOptionsBuilder,
    InspectContainerOptionsBuilder, RemoveImageOptions, RemoveVolumeOptions,
};
use bollard::{Docker, body_try_stream};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt};

use crate::backends::docker::engine::Engine;
use crate::backends::docker::errors::{failed, status, unavailable};
use crate::backends::docker::names::Names;
use crate::backends::docker::pinned::PinnedImage;
use crate::backends::docker::spec::ContainerSpec;
use crate::error::{ContainerError, RouteError};
use crate::limits::{CONTAINER_COMMIT_BYTES, DOCKER_IMAGE_TIMEOUT};

/// The tag of a user's image.
const TAG: &str = "latest";

impl Engine {
    /// The image of the user's next container: their own, if they made one, or else the server's image, by the id that
    /// it had at its first use.
    pub(super) async fn image(&self, spec: &ContainerSpec) -> Result<String, RouteError> {
        let own = spec.names.image();
        if self.image_id(&own).await?.is_some() {
            return Ok(own);
        }
        self.pinned(&spec.config.image).await.map(|pinned| pinned.id.clone())
    }

    /// The id of an image, if it is on the engine.
    pub(super) async fn image_id(&self, image: &str) -> Result<Option<String>, RouteError> {
        match self.docker.inspect_image(image).await {
            Ok(found) => Ok(found.id),
            Err(error) if status(&error) == Some(404) => Ok(None),
            Err(error) => Err(failed("cannot inspect the image", &error)),
        }
    }

    /// The server's image, looked up once: if its name is given to another image later, that has no effect here until the
    /// server is restarted.
    pub(super) async fn pinned(&self, name: &str) -> Result<&PinnedImage, RouteError> {
        let look = async || match self.inspected_or_pulled(name).await {
            Ok(found) => {
                let digests = found.repo_digests.unwrap_or_default();
                let pinned = PinnedImage::new(name, found.id.unwrap_or_else(|| name.to_owned()), &digests);
                tracing::info!(image = pinned.shown(), id = pinned.id, "containers are made of this image");
                Ok(pinned)
            }
            Err(error) => Err(error),
        };
        self.pinned.get_or_try_init(look).await
    }

    async fn inspected_or_pulled(&self, name: &str) -> Result<ImageInspect, RouteError> {
        let failed = |error| failed("cannot inspect the image", &error);
        match self.docker.inspect_image(name).await {
            Err(error) if status(&error) == Some(404) => {}
            found => return found.map_err(failed),
        }
        self.pull(name).await?;
        self.docker.inspect_image(name).await.map_err(failed)
    }

    /// Checks that there is an image for the user's next container, without pulling one.
    pub(super) async fn look_for_image(&self, names: &Names, name: &str) -> Result<(), RouteError> {
        if let Some(progress) = self.pulling.progress() {
            let why = format!("image {name} is being pulled ({progress}); commands wait for it");
            return Err(RouteError::ImageNotPulled { why });
        }
        let servers = self.pinned.get().map_or(name, |pinned| pinned.id.as_str());
        if self.image_id(&names.image()).await?.is_some() || self.image_id(servers).await?.is_some() {
            return Ok(());
        }
        Err(match self.pinned.get() {
            Some(_) => self.no_image(servers),
            None => {
                let why = format!("image {name} is not on this machine yet; the first command pulls it");
                RouteError::ImageNotPulled { why }
            }
        })
    }

    pub(super) fn no_image(&self, image: &str) -> RouteError {
        unavailable(match self.pinned.get() {
            Some(pinned) if pinned.id == image => format!(
                "image {}, which this server started with, is no longer on this machine: docker pull {}, and start the server \
                 again",
                pinned.shown(),
                pinned.name
            ),
            _ => format!("image {image} is not on this machine: docker pull {image}"),
        })
    }

    /// Saves the container's file system as the user's image; the container is paused meanwhile. Returns the image's
    /// id.
    pub(super) async fn commit(&self, names: &Names) -> Result<String, ContainerError> {
        let with_size = InspectContainerOptionsBuilder::new().size(true).build();
        let found = match self.patient().inspect_container(&names.container, Some(with_size)).await {
            Ok(found) => found,
            Err(error) if status(&error) == Some(404) => return Err(ContainerError::Missing),
            Err(error) => return Err(failed("cannot inspect the container", &error).into()),
        };
        let written_bytes = u64::try_from(found.size_rw.unwrap_or(0)).unwrap_or(0);
        if written_bytes > CONTAINER_COMMIT_BYTES {
            let what = "what was written in the container outside its workspace";
            return Err(ContainerError::TooLarge { what, limit_bytes: CONTAINER_COMMIT_BYTES });
        }
        let options = CommitContainerOptionsBuilder::new()
            .container(&names.container)
            .repo(&names.repository)
            .tag(TAG)
            .pause(true)
            .build();
        let committed = self.patient().commit_container(options, ContainerConfig::default()).await;
        Ok(committed.map_err(|error| failed("cannot commit the container", &error))?.id)
    }

    /// The container's files, those of its workspace included, as an uncompressed tar archive.
    pub(super) fn files(
        &self,
        container: &str,
    ) -> impl Stream<Item = Result<Bytes, RouteError>> + Send + use<> {
        let whole = DownloadFromContainerOptionsBuilder::new().path("/").build();
        let files = self.docker.download_from_container(container, Some(whole));
        files.map_err(|error| failed("cannot read the container's files", &error))
    }

    /// Imports a tar archive as the user's image.
    pub(super) async fn import(
        &self,
        names: &Names,
        archive: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    ) -> Result<(), ContainerError> {
        let options = CreateImageOptionsBuilder::new().from_src("-").repo(&names.repository).tag(TAG).build();
        let docker = self.patient();
        let mut progress = Box::pin(docker.create_image(Some(options), Some(body_try_stream(archive)), None));
        while let Some(step) = progress.next().await {
            step.map_err(|error| {
                let text = error.to_string();
                if text.contains("archive/tar") || text.contains("unexpected EOF") {
                    ContainerError::NotAnArchive { why: text }
                } else {
                    failed("cannot import the archive", &error).into()
                }
            })?;
        }
        Ok(())
    }

    /// Removes an image by name or id; a missing one, or one that another image builds on, is fine.
    pub(super) async fn remove_image(&self, image: &str) -> Result<(), RouteError> {
        match self.docker.remove_image(image, None::<RemoveImageOptions>, None).await {
            Err(error) if !matches!(status(&error), Some(404 | 409)) => {
                Err(failed("cannot remove the old image", &error))
            }
            _ => Ok(()),
        }
    }

    /// Removes a volume with all its content; a missing one is fine.
    pub(super) async fn remove_volume(&self, volume: &str) -> Result<(), RouteError> {
        match self.docker.remove_volume(volume, None::<RemoveVolumeOptions>).await {
            Err(error) if status(&error) != Some(404) => {
                Err(failed("cannot remove the workspace's volume", &error))
            }
            _ => Ok(()),
        }
    }

    /// A client with a longer timeout, for calls whose duration depends on the size of a container or image.
    fn patient(&self) -> Docker {
        self.docker.clone().with_timeout(DOCKER_IMAGE_TIMEOUT)
    }
}
