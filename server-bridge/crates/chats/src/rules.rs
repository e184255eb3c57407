//! A user's permission rules: listing, adding, removing and trying them.

use agent::approval::Ruling;
use agent::tool::Subject;
use api::rules::{NewRule, RuleMatchView, RulePartView, RuleTrial, RuleTrialView, RuleView};
use api::words;
use rules::{Effect, Origin, Part, Rule, RuleRef};
use store::{ChatId, PermissionRule, RuleEffect, TurnId, User};

use crate::house::ChatService;
use crate::limits::RULE_TRIAL_BYTES;
use crate::rule_book::{Entry, WorkspaceRules, effect_of, of_workspace, unusable};
use crate::stored::Stored;
use crate::{Error, Result};

impl ChatService {
    /// The rules that apply to a user: the administrator's, the user's own in the order in which they were added, including those for
    /// single chats, those of the workspace of their active place if it can be reached, and the built-in ones.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn rules(&self, user: &User) -> Result<Vec<RuleView>> {
        let house = &self.0;
        let managed = house.rules.managed(house.settings.home()).await;
        let others =
            |origin: words::RuleOrigin, loaded: &rules::LoadedRule, warnings: Vec<String>| RuleView {
                id: None,
                origin,
                effect: word_of(loaded.effect),
                rule: loaded.rule.text().to_owned(),
                justification: loaded.justification.clone().unwrap_or_default(),
                warnings,
                created_at: None,
                hits: None,
                last_hit_at: None,
                chat_id: None,
                file: None,
            };
        let warned = |id: &str| {
            managed.warnings.iter().filter(|(place, _)| place == id).map(|(_, text)| text.clone()).collect()
        };
        let mut views: Vec<RuleView> = managed
            .rules
            .iter()
            .map(|loaded| others(words::RuleOrigin::Managed, loaded, warned(&loaded.id)))
            .collect();
        views.extend(house.store.permission_rules(user.id).await?.into_iter().map(view));
        if let Ok(sandbox) = house.execs.sandbox(user, None).await {
            views.extend(of_workspace(&sandbox).await.entries.into_iter().map(of_file));
        }
        views.extend(
            rules::dangerous()
                .rules
                .iter()
                .map(|loaded| others(words::RuleOrigin::BuiltIn, loaded, Vec::new())),
        );
        Ok(views)
    }

    /// Adds a rule for a user. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] for a rule that is malformed or can never match; [`Error::Store`] for a rule that is too long, and if there are too many.
    pub async fn add_rule(&self, user: &User, new: &NewRule) -> Result<RuleView> {
        let effect = match &new.effect {
            words::RuleEffect::Deny => RuleEffect::Deny,
            words::RuleEffect::Ask => RuleEffect::Ask,
            words::RuleEffect::Allow => RuleEffect::Allow,
            words::RuleEffect::Unknown(word) => {
                return Err(Error::refused(
                    "invalid",
                    format!("{word:?} is not an effect; use deny, ask or allow"),
                ));
            }
        };
        let refused = |why: rules::RuleError| {
            Error::refused("invalid", format!("the rule {:?} is refused: {why}", new.rule))
        };
        let rule = Rule::parse(&new.rule).map_err(refused)?;
        if let Some(why) = rule.refusal(effect_of(effect)) {
            return Err(refused(why));
        }
        if let Some(why) = unusable(&rule) {
            return Err(Error::refused("invalid", why));
        }
        let house = &self.0;
        let justification = new.justification.as_deref().unwrap_or_default().trim();
        let chat = chat_of(new.chat_id.as_deref())?;
        let chat = chat.as_ref();
        let added =
            house.store.add_permission_rule(user.id, chat, effect, rule.text(), justification).await?;
        house.rules.changed(user.id);
        house.note(user, "rule.add", None, rule.text(), effect.as_str()).await;
        Ok(view(added))
    }

    /// Removes a user's rule: it no longer applies from the next call on. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] for a rule that was removed or belongs to another user; [`Error::Store`].
    pub async fn remove_rule(&self, user: &User, id: i64) -> Result<()> {
        let house = &self.0;
        let removed = house.store.remove_permission_rule(user.id, id).await?;
        house.rules.changed(user.id);
        let Some(removed) = removed else {
            return Err(Error::refused(
                "not_found",
                format!("you have no rule {id}; `sandbridge rule list` lists your rules"),
            ));
        };
        house.note(user, "rule.remove", None, &removed.rule, removed.effect.as_str()).await;
        Ok(())
    }

    /// The decision of the rules on a call of a user's model. Nothing is run or counted, and no machine is asked, so symbolic links are not followed.
    ///
    /// # Errors
    /// [`Error::Refused`] for a call without a tool or one that is too long; [`Error::Store`].
    pub async fn try_rules(&self, user: &User, trial: &RuleTrial) -> Result<RuleTrialView> {
        let RuleTrial { tool, subject, chat_id } = trial;
        let chat = chat_of(chat_id.as_deref())?;
        if tool.is_empty() {
            return Err(Error::refused("invalid", "name a tool, such as Shell"));
        }
        if tool.len() + subject.len() > RULE_TRIAL_BYTES {
            return Err(Error::refused(
                "invalid",
                format!("a call to try can be at most {} KiB long", RULE_TRIAL_BYTES / 1024),
            ));
        }
        let set = self.0.rules.of(&self.0.store, self.0.settings.home(), user.id, chat.as_ref()).await?;
        let workspace = self.workspace_rules(user, chat.as_ref()).await?;
        let explanation = self.0.rules.explained(&set, &workspace.set, tool, subject);
        let part = |part: &Part<'_>| RulePartView {
            text: part.text.clone(),
            matches: part.rules.iter().map(matched).collect(),
        };
        let decision = &explanation.decision;
        Ok(RuleTrialView {
            verdict: match decision.verdict {
                Some(Effect::Deny) => words::RuleVerdict::Deny,
                Some(Effect::Ask) => words::RuleVerdict::Ask,
                Some(Effect::Allow) => words::RuleVerdict::Allow,
                None => words::RuleVerdict::Mode,
            },
            reason: decision.reason.clone(),
            decided_by: decision.rules.first().map(matched),
            parts: explanation.parts.iter().map(part).collect(),
        })
    }
}

impl ChatService {
    /// For each of these files of the workspace of a user's chat, true if the rules keep the chat's model from reading it. No one is
    /// asked, so a rule that asks counts as one that denies.
    ///
    /// # Errors
    /// [`agent::PortError`] if the machine or the database cannot be reached.
    pub async fn unreadable(
        &self,
        user: &User,
        chat: &ChatId,
        paths: &[String],
    ) -> agent::PortResult<Vec<bool>> {
        const TOOL: &str = "Read";
        const WORKSPACE: &str = ".";
        // Rules belong to a chat, so no turn is needed.
        let permissions = Stored::top(&self.0, user, chat, TurnId(0)).ports().permissions;
        match permissions.ruling(TOOL, Subject::Reads(WORKSPACE), false).await? {
            Ruling::Silent | Ruling::Allow => permissions.hidden(TOOL, WORKSPACE, paths).await,
            Ruling::Ask(_) | Ruling::Deny(_) => Ok(vec![true; paths.len()]),
        }
    }

    /// The rules of the workspace of a chat, or of the user's active place; none if its machine cannot be reached.
    async fn workspace_rules(&self, user: &User, chat: Option<&ChatId>) -> Result<WorkspaceRules> {
        let place = match chat {
            Some(chat) => self.0.store.chat(user.id, chat).await?.runner,
            None => None,
        };
        Ok(match self.0.execs.sandbox(user, place.as_deref()).await {
            Ok(sandbox) => of_workspace(&sandbox).await,
            Err(_) => WorkspaceRules::default(),
        })
    }
}

/// A rule of a workspace's file, or the file itself if it cannot be read.
fn of_file(entry: Entry) -> RuleView {
    RuleView {
        id: None,
        origin: words::RuleOrigin::Workspace,
        effect: word_of(entry.effect),
        rule: entry.rule,
        justification: entry.justification,
        warnings: entry.warnings,
        created_at: None,
        hits: None,
        last_hit_at: None,
        chat_id: None,
        file: Some(entry.file.to_owned()),
    }
}

fn view(rule: PermissionRule) -> RuleView {
    let effect = effect_of(rule.effect);
    let warnings = match Rule::parse(&rule.rule) {
        Ok(parsed) => parsed.warnings(effect, Origin::User, &[]).iter().map(ToString::to_string).collect(),
        Err(error) => vec![format!("it has no effect: {error}")],
    };
    RuleView {
        id: Some(rule.id),
        origin: if rule.chat_id.is_some() { words::RuleOrigin::Chat } else { words::RuleOrigin::User },
        effect: word_of(effect),
        rule: rule.rule,
        justification: rule.justification,
        warnings,
        created_at: Some(rule.created_at_ms),
        hits: Some(rule.hits),
        last_hit_at: rule.last_hit_at_ms,
        chat_id: rule.chat_id.map(|chat| chat.to_string()),
        file: None,
    }
}

fn matched(rule: &RuleRef<'_>) -> RuleMatchView {
    RuleMatchView {
        origin: match rule.origin {
            Origin::BuiltIn => words::RuleOrigin::BuiltIn,
            Origin::Managed => words::RuleOrigin::Managed,
            Origin::User => words::RuleOrigin::User,
            Origin::Chat => words::RuleOrigin::Chat,
            Origin::Workspace => words::RuleOrigin::Workspace,
        },
        effect: word_of(rule.rule.effect),
        rule: rule.rule.rule.text().to_owned(),
    }
}

fn word_of(effect: Effect) -> words::RuleEffect {
    match effect {
        Effect::Deny => words::RuleEffect::Deny,
        Effect::Ask => words::RuleEffect::Ask,
        Effect::Allow => words::RuleEffect::Allow,
    }
}

/// The chat that a rule or a trial names.
fn chat_of(id: Option<&str>) -> Result<Option<ChatId>> {
    let parsed = id.map(ChatId::parse).transpose();
    parsed.map_err(|error| Error::refused("invalid", format!("the rule's chat is not valid: {error}")))
}
