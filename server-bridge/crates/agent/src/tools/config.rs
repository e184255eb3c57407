//! `config`: what the user has set, as far as a model may see and change it.
//!
//! A new key: a row of [`KEYS`].

use futures_util::future::BoxFuture;
use sandbox::{Choice, DOCKER, NONE, Wish};
use schemars::JsonSchema;
use serde::Deserialize;
use store::{AuditEntry, LANGUAGE};

use super::look::{Ground, Looked, part};
use super::{Failure, Outcome, Workshop};
use crate::ChatEvent;
use crate::approval::{Access, Mode};
use crate::limits::CONFIG_VALUE_CHARS;
use crate::place::sandbox_user;
use crate::service::Home;
use crate::tool::{ForSubAgents, Live, Rules, ToolContext, TypedTool};

/// What stands for no value.
const AUTO: &str = "auto";

/// What to do with which setting.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// get shows one setting, list all of them, set changes one.
    action: Action,
    /// The setting's name.
    #[serde(default)]
    key: String,
    /// Its new value; auto takes it back.
    #[serde(default)]
    value: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Get,
    Set,
    List,
}

type Reading<'a> = BoxFuture<'a, Result<String, Failure>>;

/// A setting.
struct Key {
    name: &'static str,
    /// What it is, and what it may be.
    about: &'static str,
    read: for<'a> fn(&'a Workshop<'_>) -> Reading<'a>,
    /// Sets it, and says what is to be known of that.
    write: for<'a> fn(&'a Workshop<'_>, &'a str) -> Reading<'a>,
}

const KEYS: &[Key] = &[
    Key {
        name: store::ACTIVE_RUNNER,
        about: "where the user's work goes in chats without a place of their own: a runner's name, __docker__, none (the \
                server itself), or auto",
        read: |workshop| Box::pin(read(workshop, store::ACTIVE_RUNNER)),
        write: |workshop, value| Box::pin(set_active_runner(workshop, value)),
    },
    Key {
        name: "language",
        about: "the language to answer the user in, or auto",
        read: |workshop| Box::pin(read(workshop, LANGUAGE)),
        write: |workshop, value| Box::pin(set_language(workshop, value)),
    },
    Key {
        name: "approval",
        about: "what you may do in this chat without asking: plan, ask, auto-edit or full; you can only make it stricter",
        read: |workshop| Box::pin(approval(workshop)),
        write: |workshop, value| Box::pin(set_approval(workshop, value)),
    },
];

impl TypedTool for Arguments {
    type Services = Home;

    const NAME: &'static str = "config";
    const DESCRIPTION: &'static str = "Shows and changes what the user has set: active_runner, language, and this chat's \
approval. Change something only where the user asks for it.";
    const RULES: Rules = Rules::of(Access::Settings).for_sub_agents(ForSubAgents::Never).without_machine();

    fn access(&self) -> Access {
        if self.action == Action::Set { Access::Settings } else { Access::Read }
    }

    fn hint(&self) -> &str {
        &self.key
    }

    async fn look(&self, _ground: Option<&Ground>) -> Result<Looked, Failure> {
        let parts = vec![part("setting", &self.key), part("new value", &self.value)];
        Ok(Looked::words("changes what you have set", parts))
    }

    async fn run(&self, home: &Home, context: &ToolContext<'_>, _live: Live<'_>) -> Result<Outcome, Failure> {
        let service = &home.service()?;
        let workshop = &Workshop { service, context };
        if self.action == Action::List {
            let mut lines = Vec::new();
            for key in KEYS {
                lines.push(format!("{} = {} ({})", key.name, (key.read)(workshop).await?, key.about));
            }
            return Ok(Outcome::done(lines.join("\n")));
        }
        let known = || KEYS.iter().map(|key| key.name).collect::<Vec<_>>().join(", ");
        let key = KEYS.iter().find(|key| key.name == self.key);
        let key = key.ok_or_else(|| {
            Failure::Told(format!("there is no setting {:?}; there are {}", self.key, known()))
        })?;
        if self.action == Action::Get {
            return Ok(Outcome::done((key.read)(workshop).await?));
        }
        let value = self.value.trim();
        let is_value = !value.is_empty() && value.chars().count() <= CONFIG_VALUE_CHARS;
        if !is_value || value.chars().any(char::is_control) {
            return Err(Failure::Told(format!(
                "a value is one line of 1 to {CONFIG_VALUE_CHARS} characters"
            )));
        }
        let told = (key.write)(workshop, value).await?;
        let entry = AuditEntry {
            user: Some(workshop.user.name.clone()),
            action: format!("settings.{}", key.name),
            location: None,
            target: value.to_owned(),
            outcome: "ok".to_owned(),
        };
        workshop.service.store.append_audit(&entry).await?;
        Ok(Outcome::done(format!("{} is {value} now{told}", key.name)))
    }
}

async fn read(workshop: &Workshop<'_>, key: &str) -> Result<String, Failure> {
    let value = workshop.service.store.setting(workshop.user.id, key).await?;
    Ok(value.unwrap_or_else(|| AUTO.to_owned()))
}

async fn set_language(workshop: &Workshop<'_>, value: &str) -> Result<String, Failure> {
    let value = (value != AUTO).then_some(value);
    workshop.service.store.set_setting(workshop.user.id, LANGUAGE, value).await?;
    Ok("; it counts from the next message on".to_owned())
}

async fn set_active_runner(workshop: &Workshop<'_>, value: &str) -> Result<String, Failure> {
    let (service, user) = (workshop.service, workshop.user);
    let runners = service.store.runners(user.id).await?;
    let registered: Vec<String> = runners.into_iter().map(|runner| runner.name).collect();
    let choice = (value != AUTO).then(|| value.to_owned());
    let is_known = [AUTO, DOCKER, NONE].contains(&value) || registered.iter().any(|name| name == value);
    if !is_known {
        return Err(Failure::Told(format!(
            "the user has no runner {value:?}; there are {}",
            registered.join(", ")
        )));
    }
    service.store.set_active_runner(user.id, choice.as_deref()).await?;
    service.tell(user.id, ChatEvent::ActiveRunner(choice.clone()));
    let wish = Wish { choice: Choice::parse(choice.as_deref()), registered };
    let warning = service.router.check(&sandbox_user(user), &wish).err();
    let warning = warning.map(|why| format!("; but nothing would run there now: {why}")).unwrap_or_default();
    Ok(format!("; it counts from the next message on{warning}"))
}

async fn approval(workshop: &Workshop<'_>) -> Result<String, Failure> {
    Ok(workshop.service.store.approval(workshop.user.id, workshop.chat).await?)
}

async fn set_approval(workshop: &Workshop<'_>, value: &str) -> Result<String, Failure> {
    let wanted: Mode = value.parse().map_err(|error| Failure::Told(format!("approval {error}")))?;
    // A newer server's word counts as the strictest.
    let now = approval(workshop).await?.parse().unwrap_or(Mode::Plan);
    let strictness = |mode| Mode::ALL.iter().position(|known| *known == mode);
    if strictness(wanted) > strictness(now) {
        return Err(Failure::Told(format!(
            "only the user can let you do more: they say /approval {wanted}, or ask them to"
        )));
    }
    workshop.service.store.set_approval(workshop.user.id, workshop.chat, wanted.as_str()).await?;
    Ok(String::new())
}
