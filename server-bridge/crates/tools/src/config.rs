//! `config`: shows and changes the user's settings, as far as a model may.
//!
//! To add a key, add a row to [`KEYS`].

use futures_util::future::BoxFuture;
use sandbox::{Choice, RouteRequest};
use schemars::JsonSchema;
use serde::Deserialize;
use store::{APPROVAL, AuditEntry, LANGUAGE};

use super::{Failure, Outcome, Work};
use crate::limits::CONFIG_VALUE_CHARS;
use crate::services::ModelChoices;
use crate::{Ported, Services};
use agent::approval::{Access, Mode};
use agent::tool::look::{Ground, Looked, part};
use agent::tool::{ForSubAgents, Live, Rules, ToolContext, TypedTool};
use execs::sandbox_user;

/// The value that resets a setting.
const AUTO: &str = "auto";

/// The requested action and setting.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// get shows one setting, list shows all of them, set changes one.
    action: Action,
    /// The setting's name.
    #[serde(default)]
    key: String,
    /// The new value; auto resets the setting.
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
    /// A description with the possible values.
    about: &'static str,
    read: for<'a> fn(&'a Work<'_>) -> Reading<'a>,
    /// Changes the setting, and returns a note about the effect.
    write: for<'a> fn(&'a Work<'_>, &'a str) -> Reading<'a>,
}

const KEYS: &[Key] = &[
    Key {
        name: store::ACTIVE_RUNNER,
        about: "where the user's commands run in chats without a place of their own: a runner's name, __docker__, none (the \
                server itself), or auto",
        read: |work| Box::pin(read(work, store::ACTIVE_RUNNER)),
        write: |work, value| Box::pin(set_active_runner(work, value)),
    },
    Key {
        name: "language",
        about: "the language to answer the user in, or auto",
        read: |work| Box::pin(read(work, LANGUAGE)),
        write: |work, value| Box::pin(set_language(work, value)),
    },
    Key {
        name: "approval",
        about: "what you may do in this chat without asking: plan, ask, auto-edit or full; you can only make it stricter",
        read: |work| Box::pin(approval(work)),
        write: |work, value| Box::pin(set_approval(work, value)),
    },
    Key {
        name: "new_chats_approval",
        about: "the approval of the user's new chats: plan, ask, auto-edit or full; you can only make it stricter",
        read: |work| Box::pin(new_chats_approval(work)),
        write: |work, value| Box::pin(set_new_chats_approval(work, value)),
    },
    Key {
        name: "model",
        about: "the model of this chat: a subscription's name, a tier (vanguard, balance or swift), NAME/TIER, or auto for the user's default",
        read: |work| Box::pin(model(work)),
        write: |work, value| Box::pin(set_model(work, value)),
    },
];

impl TypedTool for Arguments {
    type Services = Services;

    const NAME: &'static str = "config";
    const DESCRIPTION: &'static str = "Shows and changes the user's settings: active_runner, language, the approval of this \
chat and of new ones, and this chat's model. Change something only when the user asks for it.";
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

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        if self.action == Action::List {
            let mut lines = Vec::new();
            for key in KEYS {
                lines.push(format!("{} = {} ({})", key.name, (key.read)(work).await?, key.about));
            }
            return Ok(Outcome::done(lines.join("\n")));
        }
        let known = || KEYS.iter().map(|key| key.name).collect::<Vec<_>>().join(", ");
        let key = KEYS.iter().find(|key| key.name == self.key);
        let key = key.ok_or_else(|| {
            Failure::Message(format!("there is no setting {:?}; the settings are {}", self.key, known()))
        })?;
        if self.action == Action::Get {
            return Ok(Outcome::done((key.read)(work).await?));
        }
        let value = self.value.trim();
        let is_value = !value.is_empty() && value.chars().count() <= CONFIG_VALUE_CHARS;
        if !is_value || value.chars().any(char::is_control) {
            return Err(Failure::Message(format!(
                "a value must be one line of 1 to {CONFIG_VALUE_CHARS} characters"
            )));
        }
        let told = (key.write)(work, value).await?;
        let entry = AuditEntry {
            user: Some(work.user.name.clone()),
            action: format!("settings.{}", key.name),
            location: None,
            target: value.to_owned(),
            outcome: "ok".to_owned(),
        };
        work.services.store.append_audit(&entry).await.ported()?;
        Ok(Outcome::done(format!("{} is {value} now{told}", key.name)))
    }
}

async fn read(work: &Work<'_>, key: &str) -> Result<String, Failure> {
    let value = work.services.store.setting(work.user.id, key).await.ported()?;
    Ok(value.unwrap_or_else(|| AUTO.to_owned()))
}

async fn set_language(work: &Work<'_>, value: &str) -> Result<String, Failure> {
    let value = (value != AUTO).then_some(value);
    work.services.store.set_setting(work.user.id, LANGUAGE, value).await.ported()?;
    Ok("; it takes effect from the next message on".to_owned())
}

async fn set_active_runner(work: &Work<'_>, value: &str) -> Result<String, Failure> {
    let (services, user) = (work.services, work.user);
    let runners = services.store.runners(user.id).await.ported()?;
    let registered: Vec<String> = runners.into_iter().map(|runner| runner.name).collect();
    let choice = (value != AUTO).then(|| value.to_owned());
    let route_request = RouteRequest { choice: Choice::parse(choice.as_deref()), registered };
    if !route_request.is_known() {
        return Err(Failure::Message(format!(
            "the user has no runner {value:?}; the user's runners are {}",
            route_request.registered.join(", ")
        )));
    }
    services.store.set_active_runner(user.id, choice.as_deref()).await.ported()?;
    services.clients.active_runner_changed(user.id, choice.as_deref());
    let warning = services.router.check(&sandbox_user(user), &route_request).err();
    let warning = warning.map(|why| format!("; but nothing would run there now: {why}")).unwrap_or_default();
    Ok(format!("; it takes effect from the next message on{warning}"))
}

async fn approval(work: &Work<'_>) -> Result<String, Failure> {
    Ok(work.services.store.approval(work.user.id, work.agent()?.chat).await.ported()?)
}

async fn set_approval(work: &Work<'_>, value: &str) -> Result<String, Failure> {
    let wanted = stricter(&approval(work).await?, value, &format!("with /approval {value}"))?;
    work.services.store.set_approval(work.user.id, work.agent()?.chat, wanted.as_str()).await.ported()?;
    Ok(String::new())
}

async fn new_chats_approval(work: &Work<'_>) -> Result<String, Failure> {
    let value = work.services.store.setting(work.user.id, APPROVAL).await.ported()?;
    Ok(value.unwrap_or_else(|| Mode::Ask.as_str().to_owned()))
}

async fn set_new_chats_approval(work: &Work<'_>, value: &str) -> Result<String, Failure> {
    let wanted = stricter(&new_chats_approval(work).await?, value, "in the settings")?;
    work.services.store.set_setting(work.user.id, APPROVAL, Some(wanted.as_str())).await.ported()?;
    Ok("; it takes effect in chats that are made from now on".to_owned())
}

/// The requested mode, if it lets the model do no more than the current one; `how` describes how the user allows more.
fn stricter(now: &str, value: &str, how: &str) -> Result<Mode, Failure> {
    let wanted: Mode = value.parse().map_err(|error| Failure::Message(format!("approval {error}")))?;
    // A mode that only a newer server knows counts as the strictest.
    let now = now.parse().unwrap_or(Mode::Plan);
    let strictness = |mode| Mode::ALL.iter().position(|known| *known == mode);
    if strictness(wanted) > strictness(now) {
        return Err(Failure::Message(format!("only the user can let you do more ({how}); ask them to")));
    }
    Ok(wanted)
}

fn models<'a>(work: &'a Work<'_>) -> Result<&'a dyn ModelChoices, Failure> {
    let models = work.services.models.get();
    models
        .map(AsRef::as_ref)
        .ok_or_else(|| Failure::Message("models cannot be shown or chosen here".to_owned()))
}

async fn model(work: &Work<'_>) -> Result<String, Failure> {
    let shown = models(work)?.of_chat(work.user, work.agent()?.chat).await;
    Ok(shown.unwrap_or_else(|why| format!("none: {why}")))
}

async fn set_model(work: &Work<'_>, value: &str) -> Result<String, Failure> {
    let choice = (value != AUTO).then_some(value);
    models(work)?.choose(work.user, work.agent()?.chat, choice).await.map_err(Failure::Message)?;
    Ok("; it answers from the next message on".to_owned())
}
