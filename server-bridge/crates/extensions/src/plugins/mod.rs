//! Plugins: skills, roles, commands, hooks and MCP servers that a user installed together, in the formats of Claude Code and
//! Agent Plugins.
//!
//! ```text
//!   a directory, an archive, npm:…, github:…, a marketplace, the shelf ─▶ Tree ─▶ looked at by hash ─▶ installed: a copy in the store
//!                                                                                              │
//!       skills, roles ─▶ Shelf     hooks ─▶ HookRunner     servers ─▶ McpServers ◀─────────────┤
//!                                                                                              ▼
//!                          its files: .sandbridge/plugins/NAME-HASH on the chat's machine, compared before each use
//! ```
//! Crate `plugins` reads the formats. Nothing of a plugin runs on the server. A user who installs a plugin has seen what it
//! runs; a changed copy must be installed again.
//!
//! | module | holds |
//! |---|---|
//! | `installed` | an installed plugin in parsed form |
//! | `machine` | its files on a machine |
//! | `shelf` | its skills and roles |
//! | `fetch` | the sources of plugins |
//! | `forge` | repositories on git hosts |
//! | `manage` | looking at plugins, installing and removing them |
//! | `market`, `offers` | the sources of marketplaces; what marketplaces and the server's shelf offer |
//! | `on_runner` | the files of a plugin or marketplace in a workspace |
//! | `view` | plugins as clients see them |

mod fetch;
mod forge;
mod installed;
mod machine;
mod manage;
mod market;
mod offers;
mod on_runner;
mod shelf;
mod view;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use execs::Ledger;
use guard::{Getter, Reach};
use store::{PluginRow, Store, UserId};

use crate::limits::{PLUGIN_ARCHIVE_BYTES, PLUGIN_FETCH_PATIENCE, PLUGINS_READ};

pub(crate) use installed::Installed;
use machine::Copies;

/// The plugins of all users. Cheap to clone; all clones share their state.
#[derive(Clone)]
pub struct Plugins(Arc<Inner>);

type Ends = Box<dyn Fn(UserId, &str) + Send + Sync>;

struct Inner {
    store: Store,
    ledger: Ledger,
    getter: Getter,
    /// Called when a plugin is removed, replaced or disabled.
    ends: RwLock<Vec<Ends>>,
    /// The copies in progress on machines.
    copies: Copies,
    /// The plugins that were parsed, without the content of their files.
    read: Mutex<HashMap<(UserId, String), Arc<Installed>>>,
}

impl Plugins {
    /// The plugins in this store. They are fetched from the public internet, and from the hosts `reachable` at any
    /// address.
    pub fn new(ledger: Ledger, store: Store, reachable: &[String]) -> Self {
        let getter = Getter::new(Reach::public(reachable))
            .with_patience(PLUGIN_FETCH_PATIENCE)
            .with_most_bytes(PLUGIN_ARCHIVE_BYTES);
        let (ends, copies, read) = (RwLock::default(), Copies::default(), Mutex::default());
        Self(Arc::new(Inner { store, ledger, getter, ends, copies, read }))
    }

    /// Registers a function that is called with a user and a plugin's name when that plugin is removed, replaced or disabled.
    pub(crate) fn at_end(&self, ends: impl Fn(UserId, &str) + Send + Sync + 'static) {
        self.0.ends.write().unwrap_or_else(PoisonError::into_inner).push(Box::new(ends));
    }

    fn ended(&self, user: UserId, name: &str) {
        let ends = self.0.ends.read().unwrap_or_else(PoisonError::into_inner);
        ends.iter().for_each(|end| end(user, name));
    }

    /// The plugins that a user has enabled. A plugin that can no longer be read is left out, and logged.
    ///
    /// # Errors
    /// [`store::Error::Database`].
    pub(crate) async fn of(&self, user: UserId) -> store::Result<Vec<Arc<Installed>>> {
        let mut found = Vec::new();
        for row in self.0.store.plugins(user).await? {
            if !row.is_enabled {
                continue;
            }
            match self.0.installed(user, &row).await {
                Ok(installed) => found.push(installed),
                Err(why) => tracing::error!(plugin = row.name, why, "a plugin cannot be read any more"),
            }
        }
        Ok(found)
    }

    /// The plugins that a user has enabled, for a caller that can continue without them: a failure is only logged.
    pub(crate) async fn readable(&self, user: UserId) -> Vec<Arc<Installed>> {
        self.of(user).await.unwrap_or_else(|error| {
            tracing::error!(%error, "the plugins of a user could not be read");
            Vec::new()
        })
    }
}

impl Inner {
    fn read(&self) -> MutexGuard<'_, HashMap<(UserId, String), Arc<Installed>>> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A plugin of a user, in parsed form.
    ///
    /// Fails with the reason as text.
    async fn installed(&self, user: UserId, row: &PluginRow) -> Result<Arc<Installed>, String> {
        let key = (user, format!("{} {}", row.hash, row.name));
        if let Some(known) = self.read().get(&key) {
            return Ok(Arc::clone(known));
        }
        let files =
            self.store.plugin_files(user, &row.name, &row.hash).await.map_err(|error| error.shown())?;
        let tree = installed::tree_of(files)?;
        let installed = Arc::new(Installed::read(&tree, &row.name)?);
        let mut read = self.read();
        if read.len() >= PLUGINS_READ {
            read.clear();
        }
        read.insert(key, Arc::clone(&installed));
        Ok(installed)
    }
}
