//! `tui_control`: operates the terminal UI in which the turn's message was written, as its user could with a key.
//!
//! It changes nothing but that screen. To add an action, add it to [`Action`], to [`TuiAction`], and to the terminal's
//! `update/control`.

use api::tui::TuiAction;
use api::words::TuiView;
use schemars::JsonSchema;
use serde::Deserialize;
use store::{Chat, ChatId};

use super::{Failure, Outcome, Work};
use crate::limits::{TUI_CHATS_LISTED, TUI_CHATS_SEARCHED, TUI_TEXT_CHARS};
use crate::services::Controlled;
use crate::{Ported, Services};
use agent::approval::Access;
use agent::tool::look::{Ground, Looked, part};
use agent::tool::{Beside, ForSubAgents, Live, Rules, ToolContext, TypedTool};

/// The action for the terminal.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// open_chat shows another chat of the user, new_chat begins one, show opens a view, fold_cards and unfold_cards change all cards,
    /// scroll_to_start and scroll_to_end scroll the messages, write puts a text into the empty input, for the user to send.
    action: Action,
    /// For open_chat: the chat's id, or words of its title.
    #[serde(default)]
    chat: String,
    /// For show: the view.
    #[serde(default)]
    view: View,
    /// For write: the text, at most 4,000 characters; no slash command and no !command.
    #[serde(default)]
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    OpenChat,
    NewChat,
    Show,
    FoldCards,
    UnfoldCards,
    ScrollToStart,
    ScrollToEnd,
    Write,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum View {
    #[default]
    Help,
    Chats,
    Runners,
    Models,
    Groups,
    Commands,
}

impl TypedTool for Arguments {
    type Services = Services;

    const NAME: &'static str = "tui_control";
    const DESCRIPTION: &'static str = "Operates the terminal that the user is writing in: shows another chat or a new one, opens a \
list or the help, folds cards, scrolls, or puts a text into the input without sending it. Use it only when the user asks for \
that. It cannot send, approve, change settings, or read what the user types; it does nothing while the user is typing.";
    // A screen shows one thing at a time.
    const RULES: Rules = Rules::of(Access::Read)
        .beside(Beside::Nothing)
        .for_sub_agents(ForSubAgents::Never)
        .needs_terminal()
        .without_machine();

    fn hint(&self) -> &str {
        match self.action {
            Action::OpenChat => &self.chat,
            Action::Show => self.view.word(),
            Action::Write => &self.text,
            other => other.word(),
        }
    }

    async fn look(&self, _ground: Option<&Ground>) -> Result<Looked, Failure> {
        let parts = vec![part("action", self.action.word()), part("about", self.hint())];
        Ok(Looked::words("operates your terminal", parts))
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        let turn = work.agent()?.turn;
        let action = self.action(work).await?;
        Ok(told(services.terminals.control(turn, action).await))
    }
}

impl Action {
    fn word(self) -> &'static str {
        match self {
            Self::OpenChat => "open_chat",
            Self::NewChat => "new_chat",
            Self::Show => "show",
            Self::FoldCards => "fold_cards",
            Self::UnfoldCards => "unfold_cards",
            Self::ScrollToStart => "scroll_to_start",
            Self::ScrollToEnd => "scroll_to_end",
            Self::Write => "write",
        }
    }
}

impl View {
    fn word(self) -> &'static str {
        match self {
            Self::Help => "help",
            Self::Chats => "chats",
            Self::Runners => "runners",
            Self::Models => "models",
            Self::Groups => "groups",
            Self::Commands => "commands",
        }
    }
}

impl Arguments {
    /// The action in the form that the terminal gets.
    ///
    /// Fails with a text for the model if it lacks something, or asks for what no terminal may do.
    async fn action(&self, work: &Work<'_>) -> Result<TuiAction, Failure> {
        Ok(match self.action {
            Action::OpenChat => TuiAction::OpenChat { chat_id: self.chat(work).await?.to_string() },
            Action::NewChat => TuiAction::NewChat,
            Action::Show => TuiAction::Show { view: TuiView::from(self.view.word()) },
            Action::FoldCards => TuiAction::FoldCards,
            Action::UnfoldCards => TuiAction::UnfoldCards,
            Action::ScrollToStart => TuiAction::ScrollToStart,
            Action::ScrollToEnd => TuiAction::ScrollToEnd,
            Action::Write => TuiAction::Write { text: written(&self.text)?.to_owned() },
        })
    }

    /// The user's own chat that is named.
    async fn chat(&self, work: &Work<'_>) -> Result<ChatId, Failure> {
        let (store, user, wanted) = (&work.services.store, work.user.id, self.chat.trim());
        if wanted.is_empty() {
            return Err(Failure::Message(
                "open_chat needs `chat`: a chat's id, or words of its title".to_owned(),
            ));
        }
        if let Ok(id) = ChatId::parse(wanted) {
            // A chat of another user is reported like one that does not exist.
            let unknown = || Failure::Message(format!("the user has no chat {wanted}"));
            let chat = match store.chat(user, &id).await {
                Ok(chat) => chat,
                Err(store::Error::NotFound { .. }) => return Err(unknown()),
                Err(error) => return Err(error).ported()?,
            };
            let is_agents = store.sub_agent(user, &id).await.ported()?.is_some()
                || store.group_agent_in(&id).await.ported()?.is_some();
            return if is_agents { Err(unknown()) } else { Ok(chat.id) };
        }
        let chats = store.chats(user, TUI_CHATS_SEARCHED).await.ported()?;
        titled(&chats, wanted).map_err(Failure::Message)
    }
}

/// The only chat whose title is this text, or has all of its words.
///
/// Fails with a text for the model that lists the chats if there are several.
fn titled(chats: &[Chat], wanted: &str) -> Result<ChatId, String> {
    let wanted = wanted.to_lowercase();
    let words: Vec<&str> = wanted.split_whitespace().collect();
    let titled: Vec<(&Chat, String)> = chats.iter().map(|chat| (chat, chat.title.to_lowercase())).collect();
    let has_words = |title: &str| words.iter().all(|word| title.contains(word));
    let same: Vec<&Chat> =
        titled.iter().filter(|(_, title)| *title == wanted).map(|(chat, _)| *chat).collect();
    let found: Vec<&Chat> = match same.is_empty() {
        true => titled.iter().filter(|(_, title)| has_words(title)).map(|(chat, _)| *chat).collect(),
        false => same,
    };
    match found[..] {
        [] => {
            Err(format!("no chat of the user has the title {wanted:?}; ChatHistory finds words in messages"))
        }
        [only] => Ok(only.id.clone()),
        [..] => {
            let line = |chat: &&Chat| format!("{} {:?}", chat.id, chat.title);
            let lines: Vec<String> = found.iter().take(TUI_CHATS_LISTED).map(line).collect();
            let count = found.len();
            Err(format!("{count} chats have that title; name one by its id:\n{}", lines.join("\n")))
        }
    }
}

/// A text for the input.
///
/// Fails with a text for the model if it is empty or too long, could act when it is sent, or holds what a person cannot see.
fn written(text: &str) -> Result<&str, Failure> {
    let text = text.trim_end();
    let is_fit = |c: char| matches!(c, '\n' | '\t') || !c.is_control();
    let why = if text.trim().is_empty() || text.chars().count() > TUI_TEXT_CHARS {
        format!("write needs a `text` of 1 to {TUI_TEXT_CHARS} characters")
    } else if text.trim_start().starts_with(['!', '/']) {
        "commands are written by the user only: the text must not begin with ! or /".to_owned()
    } else if !text.chars().all(is_fit) {
        "the text must not have control characters other than line breaks and tabs".to_owned()
    } else {
        return Ok(text);
    };
    Err(Failure::Message(why))
}

/// The outcome, in words for the model.
fn told(controlled: Controlled) -> Outcome {
    let failed = |text: &str| Outcome { is_error: true, ..Outcome::done(text) };
    match controlled {
        Controlled::Done(text) => Outcome::done(format!("done: {text}")),
        Controlled::Refused(why) => {
            failed(&format!("The terminal did nothing: {why}. Tell the user instead of trying again."))
        }
        Controlled::NoTerminal => failed(
            "No terminal asked for this: the message was not written in the full-screen terminal, or the server was restarted since. \
             Tell the user what you would show.",
        ),
        Controlled::TooOften => {
            failed("The terminal was asked too often in this turn, so nothing was done. Go on without it.")
        }
        Controlled::NoAnswer { after_s } => failed(&format!(
            "The terminal did not answer within {after_s} s, so nothing was done: it may be closed or offline. Go on without it."
        )),
        Controlled::Unknown => failed(
            "The terminal began to do this and did not report its end, so the effect is unknown. Ask the user what they see.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use store::UserId;

    use super::*;

    #[test]
    fn what_is_written_is_no_command_and_can_be_seen() {
        assert_eq!(written("two\n\tlines é 👩‍💻 \n").unwrap(), "two\n\tlines é 👩‍💻");
        assert!(written(&"é".repeat(TUI_TEXT_CHARS)).is_ok());
        for (text, why) in [
            (String::new(), "1 to"),
            (" \n\t".to_owned(), "1 to"),
            ("é".repeat(TUI_TEXT_CHARS + 1), "1 to"),
            ("!rm -r x".to_owned(), "by the user only"),
            ("\n  /approval full".to_owned(), "by the user only"),
            ("\r\n!rm".to_owned(), "by the user only"),
            ("a\u{1b}[2Jb".to_owned(), "control characters"),
            ("a\u{9b}2J".to_owned(), "control characters"),
            ("a\rb".to_owned(), "control characters"),
        ] {
            let refused = written(&text).unwrap_err().to_string();
            assert!(refused.contains(why), "{text:?}: {refused}");
        }
    }

    #[test]
    fn a_chat_is_named_by_words_of_its_title() {
        let chat = |number: u8, title: &str| Chat {
            id: ChatId::parse(&format!("{number:032x}")).unwrap(),
            user: UserId(1),
            title: title.to_owned(),
            runner: None,
            created_at_ms: 0,
            updated_at_ms: 0,
        };
        let chats = [chat(1, "The Release"), chat(2, "Release notes of May\u{1b}[2J"), chat(3, "")];
        let id = |number: usize| Ok(chats[number].id.clone());
        assert_eq!(titled(&chats, "may notes"), id(1));
        assert_eq!(titled(&chats, "the release"), id(0));
        let several = titled(&chats, "RELEASE").unwrap_err();
        assert!(several.starts_with("2 chats") && several.contains(chats[0].id.as_str()), "{several}");
        assert!(!several.contains('\u{1b}'), "{several:?}");
        assert!(titled(&chats, "april").unwrap_err().contains("no chat"));
        let many: Vec<Chat> = (0..100).map(|number| chat(number, "same")).collect();
        assert_eq!(titled(&many, "same").unwrap_err().lines().count(), TUI_CHATS_LISTED + 1);
    }

    #[test]
    fn an_unknown_action_or_view_is_an_error_that_names_the_known_ones() {
        let read = |json: &str| serde_json::from_str::<Arguments>(json).map_err(|error| error.to_string());
        assert!(read(r#"{"action": "approve"}"#).unwrap_err().contains("`open_chat`"));
        assert!(read(r#"{"action": "show", "view": "settings"}"#).unwrap_err().contains("`runners`"));
        assert!(read(r#"{"action": "write", "text": "x", "send": true}"#).is_err());
        let known = read(r#"{"action": "show", "view": "chats"}"#).unwrap();
        assert_eq!((known.hint(), known.access()), ("chats", Access::Read));
        // The words of the views are those that terminals know.
        for view in [View::Help, View::Chats, View::Runners, View::Models, View::Groups, View::Commands] {
            assert!(TuiView::WORDS.contains(&view.word()), "{view:?}");
        }
    }
}
