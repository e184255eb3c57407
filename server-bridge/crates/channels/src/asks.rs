//! Questions in chats, as buttons, or as numbers where a messenger has no buttons; and the answers to them.
//!
//! ```text
//!   a card asks ─▶ a message with tokens (their hashes on record) ─▶ pressed by the person who was asked, once, in time ─▶ answered
//!        └─▶ answered elsewhere, given up, or the server died ────────────────────────────────────▶ the message shows that
//! ```
//! The answer and its audit entry are recorded in the same place as answers from the page. A question without an answer is denied.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use agent::approval::Answer;
use agent::ask::Reply;
use api::document::{AgentDocument, ToolData};
use api::language::Language;
use api::words::ToolStatus;
use chats::{ASKS_AGAIN, ChatEvent, Surface, card_of};
use platforms::Styled;
use platforms::event::{Event, Message};
use sha2::{Digest as _, Sha256};
use store::{MessageId, MessageRole, OpenAsk, Press, User, UserId, hex};

use crate::answers::{Target, message};
use crate::cards::{SENT_CARD, of_card};
use crate::error::Result;
use crate::house::Inner;
use crate::house::Live;
use crate::incoming::{Handled, Incoming};
use crate::limits::{OPEN_ASKS, PARTS_MAX, PLACES_MAX};
use crate::offers::{Offer, offer};
use crate::outgoing::Payload;
use crate::questions::{Choice, NO_LONGER, Question, with_lines};

/// Returns the open question of a chat message; `None` if it asks nothing, or no longer waits for an answer.
fn question(message: &store::Message, language: Language) -> Option<Question> {
    let say = |text: &str| language.translated(text).into_owned();
    if let Some(card) = card_of(message).filter(|card| card.answer.is_none()) {
        return Some(of_card(&card, language));
    }
    let json = message.document_json.as_deref().filter(|_| message.role == MessageRole::Assistant)?;
    let AgentDocument::Tool { tool, status: ToolStatus::Asking, detail, approval, data, .. } =
        serde_json::from_str(json).ok()?
    else {
        return None;
    };
    if let Some(ToolData::Question { options }) = data {
        let options =
            options.into_iter().map(|option| (option.clone(), Choice::Ask(Reply::Words(Some(option)))));
        return Some(Question {
            title: say("The agent asks:"),
            detail: format!("{detail}\n\n{}", say("Choose an answer, or write your own.")),
            card: None,
            options: options.collect(),
        });
    }
    let always = approval.and_then(|approval| approval.always).filter(|_| data != Some(ToolData::Once));
    let approval = |answer| Choice::Ask(Reply::Approval(answer));
    let mut options = vec![(say("Allow"), approval(Answer::Allow))];
    let mut detail = detail;
    if let Some(always) = always {
        options.push((say("Allow from now on"), approval(Answer::AllowForGood)));
        detail.push_str(&format!("\n\n{}: {always}", say("From now on")));
    }
    options.push((say("Deny"), approval(Answer::Deny)));
    Some(Question { title: say(&format!("{tool} needs your approval:")), detail, card: None, options })
}

/// True if a message shows a tool call of a sub-agent.
fn is_of_sub_agent(message: &store::Message) -> bool {
    let document = message.document_json.as_deref().and_then(|json| serde_json::from_str(json).ok());
    matches!(document, Some(AgentDocument::Tool { asked_by: Some(_), .. }))
}

/// Returns the question that a press answers.
pub(crate) fn asked(press: Press, is_group: bool) -> OpenAsk {
    let Press { outbox_id, account_id, conversation, user, ask, .. } = press;
    OpenAsk { outbox_id, account_id, conversation, is_group, user, ask }
}

impl Inner {
    /// Listens for questions in the chats.
    pub(crate) fn listen(self: &Arc<Self>) {
        let weak = Arc::downgrade(self);
        let subscription = self.chats.bus().subscribe(Arc::new(move |user, event| {
            let Some(inner) = weak.upgrade() else { return };
            if !inner.has_any.load(Ordering::Relaxed) {
                return;
            }
            let message = match event {
                ChatEvent::Message(message) => message,
                ChatEvent::Removed(_) => return inner.note_removed(),
                ChatEvent::Said { .. } => return inner.writing.notify_one(),
                _ => return,
            };
            let is_of = |word: &str| message.document_json.as_deref().is_some_and(|json| json.contains(word));
            match message.role {
                MessageRole::Assistant => {
                    if inner
                        .changes
                        .push((user, message.id), is_of("\"status\":\"asking\"") || is_of(SENT_CARD))
                    {
                        inner.wake.notify_one();
                    }
                }
                // The end of a command is recorded together with its output, so its answer may now be complete.
                MessageRole::Exec => inner.wake.notify_one(),
                MessageRole::User | MessageRole::Notice => {}
            }
        }));
        *self.lock_subscription() = Some(subscription);
    }

    /// Sends new questions, and settles those that no longer wait for an answer.
    pub(crate) async fn look_at_changes(&self) {
        let mut again = Vec::new();
        while let Some((user, id)) = self.changes.pop() {
            if let Err(error) = self.look_at(user, id).await {
                tracing::error!(%error, message = id.0, "a question could not be sent or settled; the server will try again");
                again.push((user, id));
            }
        }
        for change in again {
            self.changes.push(change, true);
        }
    }

    async fn look_at(&self, user: UserId, id: MessageId) -> Result<()> {
        let shown = match self.store.message(user, id).await {
            Ok(shown) => shown,
            Err(store::Error::NotFound { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        match question(&shown, self.chats.language(user)) {
            Some(question) => self.ask(user, &shown, &question).await?,
            None => {
                self.settle(&shown).await?;
                self.changes.note_asked(id, false);
            }
        }
        Ok(())
    }

    /// Checks all questions that an earlier server process left open: questions of turns that continue stay open, the others are settled.
    pub(crate) async fn look_at_all(&self) -> Result<()> {
        for ask in self.store.open_asks(OPEN_ASKS).await? {
            if let (Some(user), Some(message)) = (ask.user, ask.ask) {
                self.look_at(user, message).await?;
            } else if self.store.use_presses(ask.outbox_id).await? {
                self.show_outcome(&ask, "This question no longer waits for an answer.", None).await?;
            }
        }
        Ok(())
    }

    /// Sends a question to the conversations that will get the answer of its turn.
    async fn ask(&self, user: UserId, shown: &store::Message, question: &Question) -> Result<()> {
        let answers = self.store.answers_of_turn(user, shown.id).await?;
        let mut places: Vec<_> =
            answers.iter().map(|answer| (answer.account_id, Target::of(answer))).collect();
        if places.is_empty() && is_of_sub_agent(shown) {
            // A sub-agent in the background may ask after the answer that called it has been sent.
            for place in self.store.conversations_after_turn(user, shown.id).await? {
                let target = Target::unasked(&place.conversation, place.is_group, Some(user));
                places.push((place.account_id, target));
            }
        }
        for (account, target) in places {
            if let Some(live) = self.usable(account) {
                self.ask_there(&live, (user, &target), shown, question).await?;
            }
        }
        Ok(())
    }

    /// Sends a question to a user in one conversation, once.
    pub(crate) async fn ask_there(
        &self,
        live: &Live,
        (user, target): (UserId, &Target),
        shown: &store::Message,
        question: &Question,
    ) -> Result<()> {
        let (account, conversation) = (&live.account, &target.conversation);
        if !self.store.may_reach(account, user, conversation, target.is_group).await? {
            return Ok(());
        }
        self.changes.note_asked(shown.id, true);
        let last = self.store.last_press_place(account.id, conversation, user).await?;
        // The numbers continue from question to question, so that a late answer is not mistaken for an answer to a later question.
        let first = if last >= PLACES_MAX { 1 } else { last + 1 };
        let (platform, language) = (&live.platform, self.chats.language(user));
        let offer = offer(&**platform, language, first, &question.options, self.ask_until_ms());
        let Offer { buttons, mut presses, numbers } = offer;
        let mut text = question.text(&numbers).text();
        let mut rendered = match &question.card {
            Some(card) => platform.render_card(&with_lines(card, &numbers), &buttons),
            None => platform.render(&Styled::plain(&text), &buttons),
        };
        if rendered.len() > PARTS_MAX {
            // A question that is not shown in full gets no buttons.
            let say = language.translated("This is too long to be shown here: answer it on the page.");
            text = format!("{}\n{say}\n{}", question.title, self.rest(user, &shown.chat));
            rendered = platform.render(&Styled::plain(&text), &[]);
            presses.clear();
        }
        if rendered.len() > 1 {
            text.clone_from(&question.title);
        }
        let digest = Sha256::digest(shown.document_json.as_deref().unwrap_or_default());
        let source = format!("ask/{conversation}/{}/{}", shown.id, hex(&digest[..8]));
        let payloads = rendered.into_iter().map(message).collect();
        let mut rows = target.rows(live.account.id, &source, payloads);
        if let Some(last) = rows.last_mut() {
            if let Ok(Payload::Message { message, .. }) = serde_json::from_str(&last.payload_json) {
                last.payload_json = crate::house::to_json(&Payload::Message { message, text });
            }
            last.ask = Some(shown.id);
            last.presses = presses;
        }
        self.store.add_outgoing(live.account.id, live.account.user, &rows).await?;
        self.wake.notify_one();
        Ok(())
    }

    /// Shows that a question was answered elsewhere or no longer waits for an answer.
    async fn settle(&self, shown: &store::Message) -> Result<()> {
        for ask in self.store.asks_of(shown.id).await? {
            if !self.store.use_presses(ask.outbox_id).await? {
                continue;
            }
            let json = shown.document_json.as_deref().unwrap_or_default();
            let status = match serde_json::from_str(json) {
                Ok(AgentDocument::Tool { status, .. }) => status,
                _ => ToolStatus::default(),
            };
            if let Some(answer) = card_of(shown).and_then(|card| card.answer) {
                self.show_outcome(&ask, &answer.label, None).await?;
                continue;
            }
            let text = match status {
                // A card without an answer was withdrawn together with its turn.
                _ if json.contains(SENT_CARD) => "This question no longer waits for an answer.",
                ToolStatus::Running | ToolStatus::Done => "This was answered elsewhere.",
                ToolStatus::Denied => "This was denied, either elsewhere or because nobody answered in time.",
                _ => "This question no longer waits for an answer.",
            };
            self.show_outcome(&ask, text, None).await?;
        }
        Ok(())
    }

    /// Shows the outcome of a question in its message, or in a new message where messages cannot be changed. The new message replies to
    /// `answer`, or to the message that the question replied to, because some messengers accept only replies.
    pub(crate) async fn show_outcome(
        &self,
        ask: &OpenAsk,
        outcome: &str,
        answer: Option<&Event>,
    ) -> Result<()> {
        let Some(live) = self.usable(ask.account_id) else { return Ok(()) };
        let language = ask.user.map_or(Language::English, |user| self.chats.language(user));
        let outcome = language.translated(outcome).into_owned();
        let is_edit = live.platform.caps().edits;
        let asked = self.store.outgoing(ask.outbox_id).await?;
        let before = asked.as_ref().and_then(|row| serde_json::from_str(&row.payload_json).ok());
        let text = match before {
            Some(Payload::Message { text, .. }) if is_edit => format!("{text}\n\n→ {outcome}"),
            _ => outcome.clone(),
        };
        let rendered = match self.card_with(ask, &outcome).await?.filter(|_| is_edit) {
            Some(card) => live.platform.render_card(&card, &[]),
            None => live.platform.render(&Styled::plain(&text), &[]),
        };
        let payloads = rendered.into_iter().take(1).map(message).collect();
        let mut target = Target::unasked(&ask.conversation, ask.is_group, ask.user);
        let reply = answer.map(|event| event.reply.to_string()).or(asked.map(|row| row.reply_json));
        if let Some(reply) = reply.filter(|_| !is_edit) {
            target.reply_json = reply;
        }
        let mut rows = target.rows(ask.account_id, &format!("outcome/{}", ask.outbox_id), payloads);
        for row in &mut rows {
            row.edit_of = is_edit.then_some(ask.outbox_id);
        }
        self.store.add_outgoing(ask.account_id, live.account.user, &rows).await?;
        self.wake.notify_one();
        Ok(())
    }

    /// Treats a message as the answer to an open question, if it is one: a number where there are no buttons, or words for a question that
    /// accepts words.
    pub(crate) async fn answered(
        self: &Arc<Self>,
        incoming: &Incoming<'_>,
        user: &User,
        message: &Message,
    ) -> Result<Option<Handled>> {
        let Incoming { live, event, .. } = incoming;
        let text = message.text.trim();
        if text.is_empty() || text.starts_with(['!', '/']) {
            return Ok(None);
        }
        let (account, conversation) = (live.account.id, &event.conversation.id);
        let number: Option<i64> = text.trim_end_matches('.').parse().ok();
        let number = number.filter(|_| !live.platform.caps().buttons);
        if let Some(number) = number
            && let Some(press) = self.store.numbered_press(account, conversation, user.id, number).await?
            && let Some(choice) = Choice::of(&press)
        {
            let label = press.label.clone();
            let reply = match choice {
                Choice::Ask(reply) => reply,
                // A gate is answered with a command, not with a number.
                Choice::Gate(_) => return Ok(None),
                Choice::Setting(setting) => {
                    let text = self.press_setting(incoming, user, &press, &setting).await?;
                    let language = self.chats.language(user.id);
                    return Ok(Some(match text == label {
                        true => Handled::silent(),
                        false => incoming.say(Some(user), language, &text),
                    }));
                }
                Choice::Card(reply) => {
                    let (text, handled) = self.press_card(incoming, user, &press, reply).await?;
                    let is_taken = text == label;
                    let language = self.chats.language(user.id);
                    return Ok(Some(if is_taken {
                        handled
                    } else {
                        incoming.say(Some(user), language, &text)
                    }));
                }
            };
            let ask = asked(press, event.conversation.is_group);
            return self.taken(incoming, user, &ask, reply, &label).await.map(Some);
        }
        let open = self.store.open_ask(account, conversation, user.id).await?;
        let Some((open, asking)) = open.and_then(|open| open.ask.map(|asking| (open, asking))) else {
            return Ok(None);
        };
        let shown = self.store.message(user.id, asking).await?;
        let Some(question) = question(&shown, self.chats.language(user.id)) else { return Ok(None) };
        // A number that belongs to an earlier question is not taken as an answer in words.
        if let Some(number) = number
            && self.store.is_press_place(account, conversation, user.id, number).await?
        {
            return Ok(Some(incoming.say(Some(user), self.chats.language(user.id), NO_LONGER)));
        }
        let is_words = |choice: &Choice| matches!(choice, Choice::Ask(Reply::Words(_)));
        let wants_words =
            question.card.is_none() && question.options.iter().all(|(_, choice)| is_words(choice));
        if wants_words {
            let reply = Reply::Words(Some(text.to_owned()));
            return self.taken(incoming, user, &open, reply, "Answered").await.map(Some);
        }
        Ok(None)
    }

    async fn taken(
        &self,
        incoming: &Incoming<'_>,
        user: &User,
        open: &OpenAsk,
        reply: Reply,
        label: &str,
    ) -> Result<Handled> {
        let text = self.take(incoming, user, open, reply, label).await?;
        // A successful answer is shown in the question's message; only a failure gets a reply.
        let is_shown = text == label;
        Ok(match is_shown {
            true => Handled::silent(),
            false => incoming.say(Some(user), self.chats.language(user.id), &text),
        })
    }

    /// Accepts the answer to a question, once; returns the answer's label, or why the answer has no effect.
    pub(crate) async fn take(
        &self,
        incoming: &Incoming<'_>,
        user: &User,
        ask: &OpenAsk,
        reply: Reply,
        label: &str,
    ) -> Result<String> {
        let Incoming { live, event, .. } = incoming;
        let Some(asking) = ask.ask else { return Ok(NO_LONGER.to_owned()) };
        let shown = match self.store.message(user.id, asking).await {
            Ok(shown) => shown,
            Err(store::Error::NotFound { .. }) => return Ok(NO_LONGER.to_owned()),
            Err(error) => return Err(error.into()),
        };
        // A question that expired while no server was running is asked again, too.
        let kind = reply.kind();
        let has_expired = question(&shown, Language::English).is_some()
            && !self.store.is_ask_open(user.id, asking, kind.as_str()).await?;
        if has_expired || self.chats.asks_again(user.id, asking, kind).await? {
            return Ok(ASKS_AGAIN.to_owned());
        }
        if !self.store.use_presses(ask.outbox_id).await? {
            return Ok(NO_LONGER.to_owned());
        }
        if live.platform.caps().replies_max.is_some() {
            // The number of replies to the message that started the turn is limited, so later answers of the turn reply to the answering message
            // instead.
            let (conversation, to) = (&event.conversation.id, event.reply.to_string());
            self.store.renew_answers(&live.account, conversation, (user.id, asking), &to).await?;
        }
        let answered = self.chats.answer(user, &shown.chat, asking, reply, Surface(&live.account.kind)).await;
        let text = match answered {
            Ok(()) => label.to_owned(),
            Err(chats::Error::Store(error)) if !error.is_callers() => return Err(error.into()),
            Err(error) => error.message(),
        };
        self.show_outcome(ask, &text, Some(event)).await?;
        Ok(text)
    }
}
