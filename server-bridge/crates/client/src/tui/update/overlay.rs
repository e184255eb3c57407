//! Windows over the screen: the palette, the lists, this program's own questions.

use api::chat::CommandView;
use api::words::Approval;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::super::event::Effect;
use super::super::picker::{Action, Item, Picker};
use super::super::places::{is_ready, shown};
use super::super::state::{Focus, Overlay, State};
use super::super::text::one_line;
use super::super::transcript::Entry;
use super::{group, scroll};
use crate::output::ago;

/// Opens the list of all commands.
pub(super) fn open_palette(state: &mut State) {
    let mut items = vec![
        Item::new("New chat", "Ctrl+N", Action::NewChat),
        Item::new("Open chat", "Ctrl+O: list, search, rename, fork, delete", Action::OpenChats),
        Item::new("Groups", "Ctrl+G: people and agents in one log", Action::OpenGroups),
        Item::new("Switch runner", "Ctrl+R: where commands run", Action::OpenPlaces),
        Item::new("Change approval mode", "which actions run without asking", Action::OpenModes),
        Item::new("Choose model", "the model that answers in this chat", Action::OpenModels),
        Item::new("Undo", "take back the last message, and restore the files it changed", Action::Undo),
        Item::new("Undo by force", "even where the files have changed since", Action::ForceUndo),
        Item::new("Cancel what is running", "Esc", Action::Cancel),
        Item::new("Rename chat", "", Action::Rename),
        Item::new("Fork chat", "go on with a copy of it", Action::Fork),
        Item::new("Delete chat", "", Action::Delete),
        Item::new("Cards", "Tab: choose, fold and unfold", Action::Cards),
        Item::new("Unfold or fold all cards", "", Action::UnfoldAll),
        Item::new("Help", "F1: all keys", Action::Help),
        Item::new("Quit", "Ctrl+D", Action::Quit),
    ];
    items.extend(state.commands.iter().map(|CommandView { usage, about, .. }| {
        let (word, rest) = usage.split_once(' ').unwrap_or((usage, ""));
        let text = if rest.is_empty() { word.to_owned() } else { format!("{word} ") };
        Item::new(usage.clone(), about.clone(), Action::Write(text))
    }));
    let items = said(state, items);
    state.overlay = Some(Overlay::Pick(picker(state, "Commands", "Enter chooses · Esc closes", items)));
}

/// A list with its title and its hint in the language of the person at the terminal.
fn picker(state: &State, title: &str, hint: &str, items: Vec<Item>) -> Picker {
    Picker::new(state.theme.say(title), state.theme.say(hint), items)
}

/// Items with this program's own texts in the language of the person at the terminal.
fn said(state: &State, items: Vec<Item>) -> Vec<Item> {
    let say = |item: Item| Item {
        label: state.theme.say(&item.label),
        detail: state.theme.say(&item.detail),
        action: item.action,
    };
    items.into_iter().map(say).collect()
}

/// The chats, as items of a list.
pub(in crate::tui) fn chat_items(state: &State) -> Vec<Item> {
    let item = |chat: &super::super::wire::Chat| {
        let is_open = (chat.id == state.chat).then(|| "open".to_owned());
        let place = chat.runner.as_deref().map(|name| format!("on {}", shown(name)));
        let facts = [is_open, Some(ago(chat.updated_at)), place];
        let facts: Vec<String> = facts.into_iter().flatten().map(|fact| state.theme.say(&fact)).collect();
        let title = if chat.title.is_empty() { state.theme.say("(untitled)") } else { chat.title.clone() };
        Item::new(title, facts.join(" · "), Action::Chat(chat.id.clone()))
    };
    state.chats.iter().map(item).collect()
}

fn place_items(state: &State) -> Vec<Item> {
    let automatic = "your only runner; without a runner, the Docker container if the server offers one";
    let places = state.places.choices.iter().map(|choice| {
        let standing = if is_ready(choice) { "online" } else { "offline" };
        let active = if state.places.active.as_ref() == Some(&choice.name) { "active · " } else { "" };
        let runner = state.places.runners.iter().find(|runner| runner.name == choice.name);
        let profile = runner.and_then(|runner| runner.profile.as_deref());
        let profile = profile.map(|profile| format!(" · {profile}")).unwrap_or_default();
        let note = choice.note.as_deref().map(|note| format!(" · {note}")).unwrap_or_default();
        let detail = format!("{active}{standing}{profile}{note}");
        Item::new(shown(&choice.name), detail, Action::Place(Some(choice.name.clone())))
    });
    places.chain([Item::new("Automatic", automatic, Action::Place(None))]).collect()
}

fn mode_items() -> Vec<Item> {
    let about = |mode: &Approval| match mode {
        Approval::Plan => "looks, and changes nothing",
        Approval::Ask => "asks before it changes a file or runs a command",
        Approval::AutoEdit => "asks before it runs a command",
        Approval::Full => "asks about settings or the privileged user, or if a rule or hook asks",
        Approval::Unknown(_) => "",
    };
    Approval::known().map(|mode| Item::new(mode.as_str(), about(&mode), Action::Mode(mode.clone()))).collect()
}

/// Carries out a choice.
pub(super) fn act(state: &mut State, action: Action) -> Vec<Effect> {
    let chat = state.chat.clone();
    let pick = |state: &State, title, items| {
        Some(Overlay::Pick(picker(state, title, "Enter chooses · Esc closes", items)))
    };
    state.overlay = match action {
        Action::NewChat => return vec![Effect::NewChat],
        Action::Fork => return vec![Effect::Fork { chat }],
        Action::Undo => return vec![Effect::Undo { chat, force: false }],
        Action::ForceUndo => {
            let question = "Undo, and restore files even where they have changed since?".to_owned();
            confirm(state, question, Effect::Undo { chat, force: true })
        }
        Action::OpenGroups => return vec![Effect::LoadGroups],
        Action::Group(id, title) => return group::open(state, id, &title),
        Action::Chat(id) if id == chat => None,
        Action::Chat(id) => return state.open(&id),
        Action::Place(place) => return vec![Effect::Use { place }],
        Action::Mode(mode) => return vec![Effect::SetMode { chat, mode }],
        Action::Model(model) => return vec![Effect::SetModel { chat, model }],
        Action::Cancel => {
            state.is_cancelling = true;
            return vec![Effect::Cancel { chat }];
        }
        Action::OpenChats => {
            let hint = "Enter opens · Ctrl+N new · Ctrl+E rename · Ctrl+F fork · Ctrl+D delete";
            Some(Overlay::Chats(picker(state, "Chats", hint, chat_items(state))))
        }
        Action::OpenPlaces => pick(state, "Where commands run", said(state, place_items(state))),
        Action::OpenModes => pick(state, "Approval mode of this chat", said(state, mode_items())),
        Action::OpenModels => {
            let models = state.models.iter().map(|(name, model)| {
                Item::new(model.clone(), name.clone(), Action::Model(Some(name.clone())))
            });
            let default =
                Item::new("Default", "the model for chats that have none of their own", Action::Model(None));
            let items = models.chain(said(state, vec![default])).collect();
            pick(state, "Model of this chat", items)
        }
        Action::Rename => rename(state, chat),
        Action::Delete => delete(state, chat),
        Action::Help => Some(Overlay::Help(0)),
        Action::Quit => {
            let running = if state.transcript.is_running() {
                " Running commands go on, unless quitting ends `sandbridge here`."
            } else {
                ""
            };
            let unsent = if state.has_unsent() { " Your unsent text will be lost." } else { "" };
            confirm(state, format!("Quit?{running}{unsent}"), Effect::Quit)
        }
        Action::Write(text) => {
            // The Up key recalls the text being written.
            state.input.take();
            state.input.set(&text);
            state.focus = Focus::Input;
            None
        }
        Action::Cards => {
            choose_last_card(state);
            None
        }
        Action::UnfoldAll => {
            unfold_all(state);
            None
        }
    };
    Vec::new()
}

fn choose_last_card(state: &mut State) {
    let last = state.transcript.entries().rev().find(|entry| entry.is_card());
    if let Some(card) = last.map(|entry| entry.message.id) {
        (state.card, state.focus) = (Some(card), Focus::Cards);
    }
}

/// Unfolds all cards, or folds them if none is folded.
fn unfold_all(state: &mut State) {
    let is_folded = |entry: &Entry| entry.is_card() && entry.is_unfolded != Some(true);
    let has_folded = state.transcript.entries().any(is_folded);
    fold_all(state, has_folded);
}

/// Folds or unfolds all cards; true if any card was not that way.
pub(super) fn fold_all(state: &mut State, is_unfolded: bool) -> bool {
    let is_other = |entry: &&Entry| entry.is_card() && entry.is_unfolded.unwrap_or(false) != is_unfolded;
    let ids: Vec<i64> = state.transcript.entries().filter(is_other).map(|entry| entry.message.id).collect();
    for id in &ids {
        if let Some(entry) = state.transcript.entry_mut(*id) {
            entry.is_unfolded = Some(is_unfolded);
            entry.revision += 1;
        }
    }
    !ids.is_empty()
}

fn title(state: &State, chat: &str) -> String {
    state.chats.iter().find(|known| known.id == chat).map(|chat| chat.title.clone()).unwrap_or_default()
}

fn rename(state: &State, chat: String) -> Option<Overlay> {
    let title = title(state, &chat);
    Some(Overlay::Rename { chat, title })
}

fn delete(state: &State, chat: String) -> Option<Overlay> {
    let question = format!("Delete the chat “{}”, with all that is in it?", title(state, &chat));
    confirm(state, question, Effect::Delete { chat })
}

fn confirm(state: &State, question: String, yes: Effect) -> Option<Overlay> {
    Some(Overlay::Confirm { question: state.theme.say(&question), yes, since_ms: state.now_ms })
}

/// Handles a key for a window over the screen.
pub(super) fn key(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    if matches!(state.overlay, Some(Overlay::Group)) {
        return group::key(state, key);
    }
    if key.code == KeyCode::Enter && state.was_just_led() {
        return Vec::new();
    }
    let Some(overlay) = state.overlay.take() else { return Vec::new() };
    if key.code == KeyCode::Esc || is_control && key.code == KeyCode::Char('k') {
        return Vec::new();
    }
    match overlay {
        Overlay::Help(at) => {
            let by = match key.code {
                KeyCode::Up => -1,
                KeyCode::Down => 1,
                KeyCode::PageUp => -10,
                KeyCode::PageDown => 10,
                _ => return Vec::new(),
            };
            state.overlay = Some(Overlay::Help(at));
            scroll(state, by)
        }
        Overlay::Group => Vec::new(),
        Overlay::Confirm { question, yes, since_ms } => match key.code {
            KeyCode::Char('y' | 'Y') if state.may_answer(since_ms) => vec![yes],
            KeyCode::Enter if yes == Effect::Quit && !state.has_unsent() && state.may_answer(since_ms) => {
                vec![yes]
            }
            KeyCode::Char('n' | 'N') if state.may_answer(since_ms) => Vec::new(),
            _ => {
                state.overlay = Some(Overlay::Confirm { question, yes, since_ms });
                Vec::new()
            }
        },
        Overlay::Rename { chat, mut title } => {
            match key.code {
                KeyCode::Enter if !title.trim().is_empty() => return vec![Effect::Rename { chat, title }],
                KeyCode::Backspace => drop(title.pop()),
                KeyCode::Char('u') if is_control => title.clear(),
                KeyCode::Char(character) if !is_control => title.push(character),
                _ => {}
            }
            state.overlay = Some(Overlay::Rename { chat, title });
            Vec::new()
        }
        Overlay::Chats(picker) => chats_key(state, picker, key),
        Overlay::Pick(mut picker) => {
            if let Some(action) = pick_key(&mut picker, key) {
                return act(state, action);
            }
            state.overlay = Some(Overlay::Pick(picker));
            Vec::new()
        }
    }
}

fn chats_key(state: &mut State, mut picker: Picker, key: KeyEvent) -> Vec<Effect> {
    let chosen = match picker.chosen().map(|item| item.action.clone()) {
        Some(Action::Chat(id)) => Some(id),
        _ => None,
    };
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match (key.code, chosen) {
        (KeyCode::Char('n'), _) if is_control => return vec![Effect::NewChat],
        (KeyCode::Char('e'), Some(chat)) if is_control => state.overlay = rename(state, chat),
        (KeyCode::Char('f'), Some(chat)) if is_control => return vec![Effect::Fork { chat }],
        (KeyCode::Char('d'), Some(chat)) if is_control => state.overlay = delete(state, chat),
        _ => {
            if let Some(action) = pick_key(&mut picker, key) {
                return act(state, action);
            }
            state.overlay = Some(Overlay::Chats(picker));
        }
    }
    Vec::new()
}

/// Handles a key for a list; returns the chosen item, if any.
fn pick_key(picker: &mut Picker, key: KeyEvent) -> Option<Action> {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Enter => return picker.chosen().map(|item| item.action.clone()),
        KeyCode::Up => picker.step(-1),
        KeyCode::Down | KeyCode::Tab => picker.step(1),
        KeyCode::Backspace => picker.pop(),
        KeyCode::Char(character) if !is_control => picker.push(character),
        _ => {}
    }
    None
}

/// Inserts a text into a search or a title.
pub(super) fn paste(state: &mut State, text: &str) {
    if matches!(state.overlay, Some(Overlay::Group)) {
        return group::paste(state, text);
    }
    let text = one_line(text);
    match &mut state.overlay {
        Some(Overlay::Pick(picker) | Overlay::Chats(picker)) => text.chars().for_each(|one| picker.push(one)),
        Some(Overlay::Rename { title, .. }) => title.push_str(&text),
        Some(Overlay::Confirm { .. } | Overlay::Help(_) | Overlay::Group) | None => {}
    }
}
