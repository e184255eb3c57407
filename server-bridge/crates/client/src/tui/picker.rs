//! A list to choose from, searched while typing.

use api::words::Approval;

/// The effect of choosing an item.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    NewChat,
    OpenChats,
    OpenPlaces,
    OpenModels,
    OpenModes,
    OpenGroups,
    Rename,
    Fork,
    Delete,
    Undo,
    ForceUndo,
    Cancel,
    Cards,
    UnfoldAll,
    Help,
    Quit,
    /// Go to a chat.
    Chat(String),
    /// Open the window of a group: its id and title.
    Group(i64, String),
    /// Run commands at this place; `None` lets the server choose.
    Place(Option<String>),
    /// Set the approval mode.
    Mode(Approval),
    /// Set this chat's model; `None` resets the choice.
    Model(Option<String>),
    /// Begin to write a command.
    Write(String),
}

/// An item to choose.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    pub(super) label: String,
    pub(super) detail: String,
    pub(super) action: Action,
}

impl Item {
    pub(super) fn new(label: impl Into<String>, detail: impl Into<String>, action: Action) -> Self {
        Self { label: label.into(), detail: detail.into(), action }
    }
}

/// The list, and the typed text.
#[derive(Debug, Default)]
pub(super) struct Picker {
    pub(super) title: String,
    pub(super) hint: String,
    pub(super) query: String,
    pub(super) selected: usize,
    items: Vec<Item>,
}

impl Picker {
    pub(super) fn new(title: impl Into<String>, hint: impl Into<String>, items: Vec<Item>) -> Self {
        Self { title: title.into(), hint: hint.into(), items, ..Self::default() }
    }

    /// Replaces the items; the same item stays selected if it still exists.
    pub(super) fn replace(&mut self, items: Vec<Item>) {
        let chosen = self.chosen().map(|item| item.action.clone());
        self.items = items;
        let found = self.found();
        let same = found.iter().position(|item| Some(&item.action) == chosen.as_ref());
        self.selected = same.unwrap_or(self.selected).min(found.len().saturating_sub(1));
    }

    /// The items that match the typed text, the best first.
    pub(super) fn found(&self) -> Vec<&Item> {
        let mut found: Vec<(i32, &Item)> = self
            .items
            .iter()
            .filter_map(|item| {
                let of_label = score(&self.query, &item.label).map(|score| score + 10);
                Some((of_label.or_else(|| score(&self.query, &item.detail))?, item))
            })
            .collect();
        // The sort is stable, so equal matches keep their order.
        found.sort_by_key(|(score, _)| -score);
        found.into_iter().map(|(_, item)| item).collect()
    }

    /// The selected item.
    pub(super) fn chosen(&self) -> Option<&Item> {
        self.found().get(self.selected).copied()
    }

    /// Adds a typed character.
    pub(super) fn push(&mut self, character: char) {
        self.query.push(character);
        self.selected = 0;
    }

    /// Removes the last typed character.
    pub(super) fn pop(&mut self) {
        self.query.pop();
        self.selected = 0;
    }

    /// Moves up or down, wrapping around.
    pub(super) fn step(&mut self, by: isize) {
        let count = self.found().len();
        if count > 0 {
            self.selected = (self.selected + count).saturating_add_signed(by) % count;
        }
    }
}

/// How well a text matches the typed one: it must contain all typed characters in order. The score is higher for characters at the beginning
/// of words and next to each other, and highest if the text contains the typed one as a whole.
pub(super) fn score(query: &str, text: &str) -> Option<i32> {
    let whole = query.trim().to_lowercase();
    let found = text.to_lowercase().find(&whole).filter(|_| !whole.is_empty());
    if let Some(at) = found {
        let is_word = !text.to_lowercase()[..at].ends_with(char::is_alphanumeric);
        return Some(1000 + i32::from(is_word));
    }
    let (mut score, mut is_beside, mut before) = (0, false, ' ');
    let mut wanted =
        query.chars().filter(|character| !character.is_whitespace()).flat_map(char::to_lowercase);
    let Some(mut next) = wanted.next() else { return Some(0) };
    for character in text.chars().flat_map(char::to_lowercase) {
        if character == next {
            score += 1 + 3 * i32::from(is_beside) + 4 * i32::from(!before.is_alphanumeric());
            is_beside = true;
            match wanted.next() {
                Some(character) => next = character,
                None => return Some(score),
            }
        } else {
            is_beside = false;
        }
        before = character;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_finds_what_was_meant() {
        let labels = ["New chat", "Switch runner", "Change approval mode", "Cancel what is running", "Quit"];
        let items = labels.map(|label| Item::new(label, "", Action::Write(label.to_owned()))).to_vec();
        let mut picker = Picker::new("", "", items);
        for (query, first) in [
            ("", "New chat"),
            ("run", "Switch runner"),
            ("sr", "Switch runner"),
            ("MODE", "Change approval mode"),
            ("q", "Quit"),
            ("new ch", "New chat"),
        ] {
            picker.query = query.to_owned();
            assert_eq!(picker.chosen().unwrap().label, first, "{query}");
        }
        picker.query = "xyz".to_owned();
        assert!(picker.chosen().is_none());
        picker.step(1);
        picker.query.clear();
        picker.step(-1);
        assert_eq!(picker.chosen().unwrap().label, "Quit", "around the end");
    }

    #[test]
    fn a_list_that_changes_keeps_its_place() {
        let item = |name: &str| Item::new(name, "", Action::Chat(name.to_owned()));
        let mut picker = Picker::new("", "", vec![item("a"), item("b")]);
        picker.step(1);
        picker.replace(vec![item("new"), item("a"), item("b")]);
        assert_eq!(picker.chosen().unwrap().label, "b");
        picker.replace(vec![]);
        assert!(picker.chosen().is_none());
    }
}
