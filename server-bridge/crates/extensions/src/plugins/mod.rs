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
//! runs; a changed copy must be installed again. A turn that began before keeps its copy, whose files stay in memory until it ends.
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
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use execs::Ledger;
use guard::{Getter, Reach};
use store::limits::PLUGIN_BYTES_PER_USER;
use store::{PluginRow, Store, UserId};

use crate::limits::{PLUGIN_ARCHIVE_BYTES, PLUGIN_FETCH_PATIENCE, PLUGINS_READ};

pub(crate) use installed::Installed;
use machine::Places;

/// The plugins of all users. Cheap to clone; all clones share their state.
#[derive(Clone)]
pub struct Plugins(Arc<Inner>);

/// The way in which a copy of a plugin came out of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Another copy was installed. Turns in progress keep the copy with which they began.
    Replaced,
    /// The plugin was removed or disabled.
    Taken,
}

type Ends = Box<dyn Fn(UserId, &str, End) + Send + Sync>;

/// A user's copy of a plugin: the user, and the hash and the name.
type Copy = (UserId, String);

/// The copies that were parsed.
#[derive(Default)]
struct Copies {
    /// The installed ones, so that they need not be parsed again.
    installed: HashMap<Copy, Arc<Installed>>,
    /// All that are in use, such as one that was replaced while a turn uses it.
    used: HashMap<Copy, Weak<Installed>>,
}

struct Inner {
    store: Store,
    ledger: Ledger,
    getter: Getter,
    /// Called when a plugin is removed, replaced or disabled.
    ends: RwLock<Vec<Ends>>,
    /// The places on machines where plugins are compared and copied.
    places: Places,
    /// The plugins that were parsed, without the content of their files.
    copies: Mutex<Copies>,
}

impl Plugins {
    /// The plugins in this store. They are fetched from the public internet, and from the hosts `reachable` at any
    /// address.
    pub fn new(ledger: Ledger, store: Store, reachable: &[String]) -> Self {
        let getter = Getter::new(Reach::public(reachable))
            .with_patience(PLUGIN_FETCH_PATIENCE)
            .with_most_bytes(PLUGIN_ARCHIVE_BYTES);
        let (ends, places, copies) = (RwLock::default(), Places::default(), Mutex::default());
        Self(Arc::new(Inner { store, ledger, getter, ends, places, copies }))
    }

    /// Registers a function that is called with a user and a plugin's name when that plugin is removed, replaced or disabled.
    pub(crate) fn at_end(&self, ends: impl Fn(UserId, &str, End) + Send + Sync + 'static) {
        self.0.ends.write().unwrap_or_else(PoisonError::into_inner).push(Box::new(ends));
    }

    fn ended(&self, user: UserId, name: &str, end: End) {
        let ends = self.0.ends.read().unwrap_or_else(PoisonError::into_inner);
        ends.iter().for_each(|ends| ends(user, name, end));
    }

    /// The plugins that a user has enabled. A plugin that can no longer be read is left out, and logged.
    ///
    /// # Errors
    /// [`store::Error::Database`].
    pub(crate) async fn of(&self, user: UserId) -> store::Result<Vec<Arc<Installed>>> {
        let rows = self.0.store.plugins(user).await?;
        let (found, lost) = self.0.read(user, &rows).await;
        if lost.is_empty() {
            return Ok(found);
        }
        // A plugin that was replaced in the meantime is not left out: it may be a guard.
        let now = self.0.store.plugins(user).await?;
        let (found, lost) = if now == rows { (found, lost) } else { self.0.read(user, &now).await };
        for (plugin, why) in lost {
            tracing::error!(plugin, why, "a plugin cannot be read any more");
        }
        Ok(found)
    }

    /// A user's copy that is in use, even if it is no longer installed.
    pub(crate) fn in_use(&self, user: UserId, is_it: impl Fn(&Installed) -> bool) -> Option<Arc<Installed>> {
        let copies = self.0.copies();
        let own = copies.used.iter().filter(|((whose, _), _)| *whose == user);
        own.filter_map(|(_, copy)| copy.upgrade()).find(|copy| is_it(copy))
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
    fn copies(&self) -> MutexGuard<'_, Copies> {
        // The maps do not depend on each other, so the data stays consistent if another thread panics.
        self.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The enabled ones of these plugins, and the names of those that cannot be read, each with the reason.
    async fn read(&self, user: UserId, rows: &[PluginRow]) -> (Vec<Arc<Installed>>, Vec<(String, String)>) {
        let (mut found, mut lost) = (Vec::new(), Vec::new());
        for row in rows.iter().filter(|row| row.is_enabled) {
            match self.installed(user, row).await {
                Ok(installed) => found.push(installed),
                Err(why) => lost.push((row.name.clone(), why)),
            }
        }
        (found, lost)
    }

    /// Keeps the files of a user's plugin in memory, for the turns that use this copy, before it is replaced or removed.
    /// The copy is forgotten with the last of these turns. Beyond as many bytes as a user may install, none are kept.
    async fn keep(&self, user: UserId, name: &str) -> store::Result<()> {
        let rows = self.store.plugins(user).await?;
        let Some(row) = rows.iter().find(|row| row.name == name) else { return Ok(()) };
        let Ok(copy) = self.installed(user, row).await else { return Ok(()) };
        let files = self.store.plugin_files(user, name, &row.hash).await?;
        let mut copies = self.copies();
        let own = copies.used.iter().filter(|((whose, _), _)| *whose == user);
        let kept: usize = own.filter_map(|(_, copy)| copy.upgrade()).map(|copy| copy.kept_bytes()).sum();
        let more: usize = files.iter().map(|file| file.content.len()).sum();
        if more > 0 && i64::try_from(kept + more).is_ok_and(|bytes| bytes <= PLUGIN_BYTES_PER_USER) {
            copy.keep(files);
        }
        // Only those who use it have it from here on, even if what follows fails.
        copies.installed.remove(&key(user, &copy.hash, &copy.name));
        Ok(())
    }

    /// A plugin of a user, in parsed form.
    ///
    /// Fails with the reason as text.
    async fn installed(&self, user: UserId, row: &PluginRow) -> Result<Arc<Installed>, String> {
        let key = key(user, &row.hash, &row.name);
        if let Some(known) = self.copies().known(&key) {
            return Ok(known);
        }
        let files =
            self.store.plugin_files(user, &row.name, &row.hash).await.map_err(|error| error.shown())?;
        let tree = installed::tree_of(files)?;
        let installed = Arc::new(Installed::read(&tree, &row.name)?);
        Ok(self.copies().add(key, installed))
    }
}

impl Copies {
    fn known(&mut self, key: &Copy) -> Option<Arc<Installed>> {
        let known = self.installed.get(key).cloned();
        let known = known.or_else(|| self.used.get(key).and_then(Weak::upgrade))?;
        Some(self.add(key.clone(), known))
    }

    /// Adds a copy, unless it is known by now: there is one of each, so that whoever uses it finds the files that were kept for it.
    fn add(&mut self, key: Copy, copy: Arc<Installed>) -> Arc<Installed> {
        let copy = self.used.get(&key).and_then(Weak::upgrade).unwrap_or(copy);
        if self.installed.len() >= PLUGINS_READ {
            self.installed.clear();
        }
        if self.used.len() >= 2 * PLUGINS_READ {
            self.used.retain(|_, copy| copy.strong_count() > 0);
        }
        // The files that were kept are freed with the last turn that uses them.
        if !copy.is_kept() {
            self.installed.insert(key.clone(), Arc::clone(&copy));
        }
        self.used.insert(key, Arc::downgrade(&copy));
        copy
    }
}

fn key(user: UserId, hash: &str, name: &str) -> Copy {
    (user, format!("{hash} {name}"))
}
