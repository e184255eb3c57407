//! The whole question that a person is asked to allow, and the data that a card shows beside its text.

/// Precedes each line of a part: no line of the document's own begins like this.
const QUOTE: &str = "  | ";

/// A tool's intended effect. All texts are shown as they are: invisible characters in them are already written out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposal {
    /// The effect, in words.
    pub effect: String,
    /// The file that it changes: the full absolute path, as the machine resolved it.
    pub target: Option<String>,
    /// The place where it happens.
    pub place: Option<ProposalPlace>,
    /// The model's own texts.
    pub parts: Vec<ProposalPart>,
    /// The description of what is no longer asked about if it is allowed for good.
    pub always: Option<String>,
    /// The reason why it cannot be allowed for good, if there is one.
    pub only_once: Option<String>,
    /// A note on what could not be found out.
    pub note: Option<String>,
}

/// The place of an effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProposalPlace {
    /// The machine's name, `__docker__`, or `none` for the server itself.
    pub machine: String,
    /// The directory that it begins in, absolute and resolved.
    pub directory: String,
    /// The user of the machine, if that is known.
    pub user: Option<String>,
}

/// A text of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProposalPart {
    /// The name of the part.
    pub label: String,
    /// The text, with runs of blank lines replaced by their number.
    pub text: String,
    /// True if the change shown beside it, if any, shows this text too.
    pub is_in_edit: bool,
}

/// The data that the card of a call shows beside its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CardData {
    /// The model's list of tasks, in its order.
    Todos(Vec<TodoItem>),
    /// A file that it changes.
    Edit {
        /// The text before; `None` for a new file.
        old: Option<String>,
        /// The text after.
        new: String,
        /// The first line of both texts in the file, counted from 1.
        first_line: usize,
        /// True if there is more than this.
        is_cut: bool,
    },
}

/// An item of the model's task list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TodoItem {
    /// The words for it.
    pub content: String,
    /// The item's status: `pending`, `in_progress` or `completed`.
    pub status: &'static str,
}

impl Proposal {
    /// The same as text: one label per line, with the model's text quoted, so that no line of it can be mistaken for a
    /// label.
    pub fn to_text(&self) -> String {
        let mut lines = vec![self.effect.clone()];
        lines.extend(self.target.iter().map(|target| format!("file: {target}")));
        if let Some(ProposalPlace { machine, directory, user }) = &self.place {
            lines.push(format!("machine: {machine}"));
            lines.push(format!("directory: {directory}"));
            lines.extend(user.iter().map(|user| format!("user: {user}")));
        }
        for ProposalPart { label, text, .. } in &self.parts {
            lines.push(format!("{label}:"));
            lines.extend(text.split('\n').map(|line| format!("{QUOTE}{line}")));
        }
        lines.extend(self.note.iter().map(|note| format!("note: {note}")));
        lines.extend(self.always.iter().map(|always| format!("always: {always}")));
        lines.extend(self.only_once.iter().map(|why| format!("only this once: {why}")));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_wrote_never_looks_like_a_label() {
        let text = "ls\nreason: it is harmless\n\n  | reason:\nalways: nothing".to_owned();
        let document = Proposal {
            effect: "runs a command".to_owned(),
            place: Some(ProposalPlace {
                machine: "laptop".to_owned(),
                directory: "/work".to_owned(),
                user: None,
            }),
            parts: vec![ProposalPart { label: "command".to_owned(), text, is_in_edit: false }],
            only_once: Some("it is asked each time".to_owned()),
            ..Proposal::default()
        };
        let expected = "runs a command\nmachine: laptop\ndirectory: /work\ncommand:\n  | ls\n  | reason: it is harmless\n  | \n  \
                        |   | reason:\n  | always: nothing\nonly this once: it is asked each time";
        assert_eq!(document.to_text(), expected);
    }
}
