//! Permission rules: those of the administrator's file, of the user, of a chat, of a workspace and of the server itself, and their
//! decisions about calls.
//!
//! ```text
//!   permissions.json ─┐
//!   the user's rules ─┼─▶ RuleSet, kept for each user and chat ─┐
//!   the chat's rules ─┘                                         ├─▶ the stricter one ─▶ none: built-in rules ─▶ none: the mode
//!   the workspace's files ─▶ RuleSet of the turn: deny, ask ────┘
//! ```
//! The built-in rules are defaults: they ask before commands that are hard to undo, and any rule that a person set takes precedence.
//!
//! | module | holds |
//! |---|---|
//! | `managed` | the administrator's file |
//! | `workspace` | the files of a workspace, which need no approval to deny and ask, and never allow |
//! | `judge` | the verdict of the rules on a call |

mod judge;
mod managed;
mod workspace;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rules::{Effect, Layer, LoadedRule, Origin, Rule, RuleSet};
use store::{ChatId, PermissionRule, RuleEffect, Store, UserId};

pub(crate) use judge::{Found, Judged, Scope};
use managed::{Managed, ManagedRules};
pub(crate) use workspace::{Entry, WorkspaceRules, of_workspace};

use crate::limits::RULE_SETS_KEPT;
use crate::{Error, Result};

/// The rules of all users, which are loaded when they are needed.
pub(crate) struct RuleBook {
    managed: Managed,
    /// The rules of the server itself, consulted last.
    built_in: RuleSet,
    kept: Mutex<Kept>,
}

/// The rule sets of users, all made from the same state of the administrator's file.
#[derive(Default)]
struct Kept {
    /// The number of the state of the administrator's file from which the sets were made.
    state: u64,
    sets: HashMap<UserId, HashMap<Option<ChatId>, Arc<RuleSet>>>,
    /// The number of rule sets.
    count: usize,
    /// A number that increases with each change of rules: a set that was read before a change is not kept.
    changes: u64,
}

impl Default for RuleBook {
    fn default() -> Self {
        Self {
            managed: Managed::default(),
            built_in: RuleSet::new([rules::dangerous()]),
            kept: Mutex::default(),
        }
    }
}

impl RuleBook {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the loaded rules of a user, because they have changed.
    pub(crate) fn changed(&self, user: UserId) {
        let mut kept = self.kept();
        kept.changes += 1;
        kept.count -= kept.sets.remove(&user).map_or(0, |sets| sets.len());
    }

    /// Reads the administrator's file for the first time.
    ///
    /// # Errors
    /// [`Error::Refused`] for a file that cannot be read or has a mistake.
    pub(crate) async fn load(&self, home: Option<&Path>) -> Result<()> {
        self.managed.look(home).await.map(drop).map_err(|why| Error::refused("invalid", why))
    }

    /// The administrator's current rules.
    pub(crate) async fn managed(&self, home: Option<&Path>) -> ManagedRules {
        self.managed.current(home).await
    }

    /// The rules that people made for a user: the administrator's, the user's own and, in a chat, those of that chat.
    pub(crate) async fn of(
        &self,
        store: &Store,
        home: Option<&Path>,
        user: UserId,
        chat: Option<&ChatId>,
    ) -> store::Result<Arc<RuleSet>> {
        let managed = self.managed.current(home).await;
        let changes = {
            let mut kept = self.kept();
            if kept.state != managed.state {
                (kept.state, kept.sets, kept.count) = (managed.state, HashMap::new(), 0);
            }
            if let Some(set) = kept.sets.get(&user).and_then(|sets| sets.get(&chat.cloned())) {
                return Ok(Arc::clone(set));
            }
            kept.changes
        };
        let rules = store.permission_rules(user).await?;
        let layer = |origin, of: Option<&ChatId>| {
            let rules = rules.iter().filter(|rule| rule.chat_id.as_ref() == of);
            Layer { origin, rules: rules.cloned().filter_map(loaded).collect() }
        };
        let own =
            [layer(Origin::User, None)].into_iter().chain(chat.map(|chat| layer(Origin::Chat, Some(chat))));
        let set = Arc::new(RuleSet::new(std::iter::once(managed.layer()).chain(own)));
        let mut kept = self.kept();
        if kept.changes == changes && kept.state == managed.state {
            if kept.count >= RULE_SETS_KEPT {
                (kept.sets, kept.count) = (HashMap::new(), 0);
            }
            let before = kept.sets.entry(user).or_default().insert(chat.cloned(), Arc::clone(&set));
            kept.count += usize::from(before.is_none());
        }
        Ok(set)
    }
}

/// A user's rule, parsed. A rule that an older version stored and this version refuses is left out; the list of rules reports it.
fn loaded(rule: PermissionRule) -> Option<LoadedRule> {
    let PermissionRule { id, effect, rule, justification, .. } = rule;
    let parsed = Rule::parse(&rule)
        .inspect_err(|error| tracing::warn!(%error, rule, "a permission rule is left out"))
        .ok()?;
    let justification = (!justification.is_empty()).then_some(justification);
    Some(LoadedRule { id: id.to_string(), effect: effect_of(effect), rule: parsed, justification })
}

/// The reason why a rule can never match here, beyond the checks of crate `rules`.
pub(crate) fn unusable(rule: &Rule) -> Option<String> {
    let is_home = rule.text().contains("(~");
    is_home.then(|| format!("`{rule}` never matches: the home directory of a machine's user is not known here; write the whole path"))
}

/// The effect of a stored rule.
pub(crate) fn effect_of(effect: RuleEffect) -> Effect {
    match effect {
        RuleEffect::Deny => Effect::Deny,
        RuleEffect::Ask => Effect::Ask,
        RuleEffect::Allow => Effect::Allow,
    }
}
