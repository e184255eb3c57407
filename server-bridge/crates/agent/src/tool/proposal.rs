//! What a person is asked to allow, the whole of it; and what a card shows beside words.

/// What stands before each line of a part: nothing of the document's own begins so.
const QUOTE: &str = "  | ";

/// What a tool wants to do. All texts are shown as they are: what cannot be seen in them is written out already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposal {
    /// What it does, in words.
    pub effect: String,
    /// The file that it changes, absolute and whole, as the machine resolved it.
    pub target: Option<String>,
    /// Where it does it.
    pub place: Option<ProposalPlace>,
    /// What the model wrote.
    pub parts: Vec<ProposalPart>,
    /// What is not asked for any more where it is allowed for good.
    pub always: Option<String>,
    /// Why it cannot be allowed for good, where it cannot.
    pub only_once: Option<String>,
    /// What could not be found out.
    pub note: Option<String>,
}

/// A place that something is done in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProposalPlace {
    /// The machine's name, `__docker__`, or `none` for the server itself.
    pub machine: String,
    /// The directory that it begins in, absolute and resolved.
    pub directory: String,
    /// The user of the machine, where that is known.
    pub user: Option<String>,
}

/// Something that the model wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProposalPart {
    /// What it is.
    pub label: String,
    /// It, with runs of blank lines counted.
    pub text: String,
    /// Whether the change beside it, where there is one, shows it too.
    pub is_in_edit: bool,
}

/// What the card of a call shows beside its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CardData {
    /// What the model wants to do, in its order.
    Todos(Vec<TodoItem>),
    /// A file that it changes.
    Edit {
        /// The text before; none of a new file.
        old: Option<String>,
        /// The text after.
        new: String,
        /// The line of the file that both begin with; the first one is 1.
        first_line: usize,
        /// Whether there is more of it.
        is_cut: bool,
    },
}

/// Something that the model wants to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TodoItem {
    /// The words for it.
    pub content: String,
    /// The word for how it stands: `pending`, `in_progress` or `completed`.
    pub status: &'static str,
}

impl Proposal {
    /// The same as text: a label a line, and what the model wrote quoted, so that no line of it can be taken for a label.
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
        lines.extend(self.only_once.iter().map(|why| format!("this once only: {why}")));
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
                        |   | reason:\n  | always: nothing\nthis once only: it is asked each time";
        assert_eq!(document.to_text(), expected);
    }
}
