//! Operations on a user's container as a whole.
//!
//! The image of a commit or an import belongs to its user alone. Only its files and its environment are used: entry point,
//! user, limits and mounts are set by the server at each creation, set-user-id files gain nothing under no-new-privileges,
//! and device nodes open nothing that the engine did not allow.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, future, stream};
use proto::session::{Close, CloseCode};
use tokio::sync::OwnedSemaphorePermit;

use crate::backends::docker::engine::{Engine, Standing};
use crate::backends::docker::names::Names;
use crate::backends::docker::pinned::PinnedImage;
use crate::backends::docker::shared::Shared;
use crate::config::ContainerNetwork;
use crate::error::{ContainerError, RouteError};
use crate::limits::{CONTAINER_ARCHIVE_BYTES, CONTAINER_STOP_TIMEOUT_S};

/// An uncompressed tar archive of a container's files.
pub type ContainerArchive = Pin<Box<dyn Stream<Item = Result<Bytes, ContainerError>> + Send>>;

/// One user's container as a whole, created or not.
///
/// All methods fail with [`ContainerError::Place`] if the engine does not answer or refuses; each method names its
/// other errors.
#[derive(Debug, Clone)]
pub struct UserContainer {
    shared: Arc<Shared>,
    user_key: String,
}

/// The state of a user's container.
#[derive(Debug, Clone, PartialEq)]
pub struct ContainerStatus {
    /// The container's name on the engine.
    pub name: String,
    /// `none`, `stopped`, `running` or `paused`.
    pub state: &'static str,
    /// The image of this container, or of the next one.
    pub image: String,
    /// True if the user made that image.
    pub is_own_image: bool,
    /// The limit on memory, in bytes.
    pub memory_bytes: i64,
    /// The limit on processes and threads.
    pub pids: i64,
    /// The limit on CPUs; no limit when absent.
    pub cpus: Option<f64>,
    /// The limits that the engine cannot enforce: `memory`, `pids`, `cpus`.
    pub unlimited: Vec<&'static str>,
    /// The engine's network that it joins.
    pub network: String,
    /// True if only `/tmp`, `/run` and the workspace can be written to.
    pub read_only: bool,
    /// `mapped`: its root is an unprivileged user outside; `host`: it is not mapped, though the engine could; `none`: the
    /// engine maps no users.
    pub user_namespace: &'static str,
    /// `volume` or `directory`.
    pub workspace: &'static str,
    /// How long it runs without a request, in seconds; without end when absent.
    pub idle_stop_s: Option<u64>,
}

impl UserContainer {
    pub(super) fn new(shared: Arc<Shared>, user_key: String) -> Self {
        Self { shared, user_key }
    }

    /// The container's state; starts nothing.
    pub async fn status(&self) -> Result<ContainerStatus, ContainerError> {
        let (engine, names) = self.engine().await?;
        let standing = engine.look(&names.container).await?;
        let is_own_image = engine.image_id(&names.image()).await?.is_some();
        let config = &self.shared.config;
        // An image that is not on the machine is shown by its configured name; only a command pulls it.
        let is_there = engine.pinned.get().is_some() || engine.image_id(&config.image).await?.is_some();
        let pinned = match is_there {
            true => engine.pinned(&config.image).await.map_or(config.image.clone(), PinnedImage::shown),
            false => config.image.clone(),
        };
        Ok(ContainerStatus {
            state: match standing {
                Standing::Missing => "none",
                Standing::Stopped => "stopped",
                Standing::Running => "running",
                Standing::Paused => "paused",
            },
            image: if is_own_image { names.image() } else { pinned },
            network: match &config.network {
                ContainerNetwork::Own => names.network,
                ContainerNetwork::Named(name) => name.clone(),
            },
            name: names.container,
            is_own_image,
            memory_bytes: config.memory_bytes,
            pids: config.pids,
            cpus: config.cpus,
            unlimited: engine.facts.unlimited.clone(),
            read_only: config.read_only,
            user_namespace: match (engine.facts.user_namespace, config.host_userns) {
                (false, _) => "none",
                (true, false) => "mapped",
                (true, true) => "host",
            },
            workspace: if config.workspace_dir.is_some() { "directory" } else { "volume" },
            idle_stop_s: config.idle_stop.map(|idle| idle.as_secs()),
        })
    }

    /// Stops the container and everything that runs in it; the next use starts it again.
    pub async fn stop(&self) -> Result<(), ContainerError> {
        let (engine, names) = self.engine().await?;
        let _turn = self.end_life().await?;
        Ok(engine.stop(&names.container, CONTAINER_STOP_TIMEOUT_S).await?)
    }

    /// Stops the container of a removed user and removes their network, which is no longer needed.
    pub(crate) async fn retire(&self) -> Result<(), ContainerError> {
        let (engine, names) = self.engine().await?;
        let _turn = self.end_life().await?;
        engine.stop(&names.container, CONTAINER_STOP_TIMEOUT_S).await?;
        Ok(engine.remove_network(&names).await?)
    }

    /// Turns its content, except the workspace, into the image of the user's next containers. Its processes are paused
    /// meanwhile. Returns the image's id.
    ///
    /// Fails with [`ContainerError::Missing`] if there is none, with [`ContainerError::Busy`] while another image of it is
    /// being made, and with [`ContainerError::TooLarge`] above 16 GiB.
    pub async fn commit(&self) -> Result<String, ContainerError> {
        let user = self.shared.user(&self.user_key);
        let _alone = user.making_image.try_acquire().map_err(|_| ContainerError::Busy)?;
        let (engine, names) = self.engine().await?;
        engine.commit(&names).await
    }

    /// Reads all files in it, those of its workspace included.
    ///
    /// Fails with [`ContainerError::Missing`] if there is none; the archive fails with [`ContainerError::TooLarge`] above 32
    /// GiB.
    pub async fn export(&self) -> Result<ContainerArchive, ContainerError> {
        let (engine, names) = self.engine().await?;
        if engine.look(&names.container).await? == Standing::Missing {
            return Err(ContainerError::Missing);
        }
        let files = engine.files(&names.container);
        let limited = stream::try_unfold((Box::pin(files), 0), async |(mut files, sent_bytes)| {
            let Some(bytes) = files.next().await.transpose()? else { return Ok(None) };
            let sent_bytes = sent_bytes + bytes.len() as u64;
            if sent_bytes > CONTAINER_ARCHIVE_BYTES {
                return Err(too_large());
            }
            Ok(Some((bytes, (files, sent_bytes))))
        });
        Ok(Box::pin(limited))
    }

    /// Turns an archive's files into the user's image, and ends the existing container: the next use creates one from the
    /// image. The workspace stays, unless `replaces_workspace`: then its content is replaced by the archive's `workspace/`.
    ///
    /// Fails with [`ContainerError::Busy`] while another image of it is being made, with [`ContainerError::TooLarge`] above
    /// 32 GiB, with [`ContainerError::NotAnArchive`] or [`ContainerError::BrokenOff`] if the archive is incomplete, and with
    /// [`ContainerError::DirectoryWorkspace`] if the workspace is not a volume of the engine; nothing is changed then.
    pub async fn import<E: std::fmt::Display + Send + 'static>(
        &self,
        archive: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
        replaces_workspace: bool,
    ) -> Result<(), ContainerError> {
        self.require_volume(replaces_workspace)?;
        let user = self.shared.user(&self.user_key);
        let _alone = user.making_image.try_acquire().map_err(|_| ContainerError::Busy)?;
        let (engine, names) = self.engine().await?;
        let old = engine.image_id(&names.image()).await?;
        let (counted, trouble) = counted(archive);
        let imported = engine.import(&names, counted).await;
        trouble.result()?;
        imported?;
        let _turn = self.end_life().await?;
        engine.remove(&names.container).await?;
        if replaces_workspace {
            engine.remove_volume(&names.volume).await?;
        }
        if let Some(old) = old {
            engine.remove_image(&old).await?;
        }
        Ok(())
    }

    /// Stops and removes the container, and removes the user's image: the next use creates a container from the server's
    /// image. The workspace stays, unless `removes_workspace`.
    ///
    /// Fails with [`ContainerError::DirectoryWorkspace`] if a workspace to be removed is not a volume of the engine.
    pub async fn reset(&self, removes_workspace: bool) -> Result<(), ContainerError> {
        self.require_volume(removes_workspace)?;
        let (engine, names) = self.engine().await?;
        let _turn = self.end_life().await?;
        engine.remove(&names.container).await?;
        engine.remove_network(&names).await?;
        engine.remove_image(&names.image()).await?;
        if removes_workspace {
            engine.remove_volume(&names.volume).await?;
        }
        Ok(())
    }

    async fn engine(&self) -> Result<(Arc<Engine>, Names), RouteError> {
        let engine = self.shared.engine().await?;
        let names = Names::new(&engine.facts.owner, &self.user_key);
        Ok((engine, names))
    }

    fn require_volume(&self, is_needed: bool) -> Result<(), ContainerError> {
        match &self.shared.config.workspace_dir {
            Some(_) if is_needed => Err(ContainerError::DirectoryWorkspace),
            _ => Ok(()),
        }
    }

    /// Ends the container's run; no other run can start while the permit is held.
    async fn end_life(&self) -> Result<OwnedSemaphorePermit, RouteError> {
        // In this order: the run that the next use begins has to wait for this one.
        let turn = self.shared.turn(&self.user_key);
        let end = async {
            if let Some(link) = self.shared.links.forget(&self.user_key).await {
                link.close(Some(Close::new(CloseCode::GoingAway, "the user ended the container")));
            }
        };
        future::join(turn, end).await.0
    }
}

/// The reason why an upload failed, which the engine's own error does not mention.
#[derive(Debug, Clone, Default)]
struct Trouble {
    is_too_large: Arc<AtomicBool>,
    broke_off: Arc<std::sync::OnceLock<String>>,
}

impl Trouble {
    fn result(&self) -> Result<(), ContainerError> {
        if self.is_too_large.load(Ordering::Relaxed) {
            return Err(too_large());
        }
        match self.broke_off.get() {
            Some(why) => Err(ContainerError::BrokenOff { why: why.clone() }),
            None => Ok(()),
        }
    }
}

fn counted<E: std::fmt::Display + Send + 'static>(
    archive: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
) -> (impl Stream<Item = io::Result<Bytes>> + Send + 'static, Trouble) {
    let trouble = Trouble::default();
    let told = trouble.clone();
    let mut left_bytes = CONTAINER_ARCHIVE_BYTES;
    let counted = archive.map(move |bytes| {
        let bytes = bytes.map_err(|error| {
            // It is set only here.
            let _ = told.broke_off.set(error.to_string());
            io::Error::other(error.to_string())
        })?;
        match left_bytes.checked_sub(bytes.len() as u64) {
            Some(left) => left_bytes = left,
            None => {
                told.is_too_large.store(true, Ordering::Relaxed);
                return Err(io::ErrorKind::FileTooLarge.into());
            }
        }
        Ok(bytes)
    });
    (counted, trouble)
}

fn too_large() -> ContainerError {
    ContainerError::TooLarge { what: "the archive", limit_bytes: CONTAINER_ARCHIVE_BYTES }
}
