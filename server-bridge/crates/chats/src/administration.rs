//! Server-wide settings that administrators change while the server runs.

use std::path::PathBuf;

use agent::context::{ContextMode, UnknownContextMode};
use api::server_settings::{ServerSettings, ServerSettingsChange};
use store::{AuditEntry, User};

use crate::house::{ChatService, House};
use crate::limits::TURNS_AT_ONCE_MAX;
use crate::server_settings::{BASE_PROMPT, CONTEXT_MODE, EMBEDDER, TURNS_AT_ONCE, Values};
use crate::{ChatEvent, Error, Result};

/// The name of a change of server settings in the audit trail.
const AUDITED: &str = "server.settings";
/// The audit trail's value for a setting that was reset.
const TAKEN_BACK: &str = "default";

impl ChatService {
    /// Sets the server's home directory. Its `AGENTS.md` is part of the prompt of every agent of every user, and a file in it may replace
    /// the base prompt; both are read again at each turn. Called once, when the server starts.
    #[must_use]
    pub fn with_home(self, home: PathBuf) -> Self {
        self.0.settings.set_home(home);
        self
    }

    /// The settings of the whole server.
    pub async fn server_settings(&self) -> ServerSettings {
        self.0.server_settings().await
    }

    /// Changes settings of the whole server, which take effect with the next answers. Stores and audits the changes, and sends an event to
    /// all administrators.
    ///
    /// # Errors
    /// [`Error::Refused`] for an invalid value, in which case nothing is changed; [`Error::Store`].
    pub async fn change_server_settings(
        &self,
        by: &User,
        change: ServerSettingsChange,
    ) -> Result<ServerSettings> {
        let house = &self.0;
        let _changing = house.settings.changing.lock().await;
        let before = house.settings.values();
        let values = house.changed(by, &before, change).await?;
        let of = |values: &Values| {
            let Values { turns_at_once, context_mode, base_prompt, embedder } = values.clone();
            [
                (TURNS_AT_ONCE, turns_at_once.map(|number| number.to_string())),
                (CONTEXT_MODE, context_mode.map(|mode| mode.to_string())),
                (BASE_PROMPT, base_prompt),
                (EMBEDDER, embedder.map(|chosen| chosen.to_string())),
            ]
        };
        let changed = of(&values).into_iter().zip(of(&before)).filter(|(now, before)| now != before);
        let changes: Vec<_> = changed
            .map(|((name, value), _)| {
                let outcome = value.clone().unwrap_or_else(|| TAKEN_BACK.to_owned());
                (name, value, audited(by, name, outcome))
            })
            .collect();
        if changes.is_empty() {
            return Ok(house.server_settings().await);
        }
        house.store.set_server_settings(&changes).await?;
        house.apply(values);
        let settings = house.server_settings().await;
        for admin in house.store.users().await?.into_iter().filter(|user| user.admin) {
            house.tell(admin.id, ChatEvent::ServerSettings(settings.clone()));
        }
        Ok(settings)
    }
}

impl House {
    /// Applies the stored settings. Called when the server starts, before any message is answered.
    pub(crate) async fn load_settings(&self) -> store::Result<()> {
        let values = Values::of_rows(&self.store.server_settings().await?);
        self.apply(values);
        Ok(())
    }

    async fn server_settings(&self) -> ServerSettings {
        let Values { turns_at_once, context_mode, base_prompt, embedder } = self.settings.values();
        let embedder = embedder.unwrap_or_default();
        let problem = self.settings.base_prompt().await.and_then(Result::err);
        let default = self.models.turns_at_once();
        ServerSettings {
            turns_at_once: turns_at_once.unwrap_or(default) as u64,
            turns_at_once_default: default as u64,
            context_mode: context_mode.unwrap_or_default().as_str().into(),
            base_prompt,
            base_prompt_problem: problem.map(|problem| problem.to_string()),
            embedder: embedder.shown(),
            embedder_problem: self.embedder_problem(&embedder).await,
        }
    }

    /// The settings after a change.
    async fn changed(&self, by: &User, before: &Values, change: ServerSettingsChange) -> Result<Values> {
        let mut values = before.clone();
        if let Some(number) = change.turns_at_once {
            values.turns_at_once = number.map(turns_at_once).transpose()?;
        }
        if let Some(mode) = change.context_mode {
            let mode = mode.map(|mode| mode.as_str().parse::<ContextMode>()).transpose();
            values.context_mode = mode.map_err(|error: UnknownContextMode| {
                Error::refused("invalid", format!("the context mode {error}"))
            })?;
        }
        if let Some(name) = change.base_prompt {
            if let Some(name) = &name {
                let read = self.settings.read_base_prompt(name).await;
                read.map_err(|error| Error::refused("invalid", error.to_string()))?;
            }
            values.base_prompt = name;
        }
        if let Some(embedder) = change.embedder {
            values.embedder = match embedder {
                Some(text) => Some(self.chosen_embedder(by, &text).await?),
                None => None,
            };
        }
        Ok(values)
    }

    fn apply(&self, values: Values) {
        self.models.set_turns_at_once(values.turns_at_once);
        self.settings.replace(values);
    }
}

fn turns_at_once(number: u64) -> Result<usize> {
    let number = usize::try_from(number).ok().filter(|number| (1..=TURNS_AT_ONCE_MAX).contains(number));
    number.ok_or_else(|| {
        Error::refused(
            "invalid",
            format!("the number of concurrent answers must be between 1 and {TURNS_AT_ONCE_MAX}"),
        )
    })
}

fn audited(by: &User, name: &str, outcome: String) -> AuditEntry {
    AuditEntry {
        user: Some(by.name.clone()),
        action: AUDITED.to_owned(),
        location: None,
        target: name.to_owned(),
        outcome,
    }
}
