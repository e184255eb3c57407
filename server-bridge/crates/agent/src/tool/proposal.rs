//! The whole question that a person answers when giving permission, and the data that a card shows in addition to its text.

use serde_json::Value;

/// The prefix of each line of a part; no other line of the proposal's text begins with it.
const QUOTE: &str = "  | ";

/// The intended effect of a tool call. All texts are shown unchanged: invisible characters in them are already written out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposal {
    /// The effect, in words.
    pub effect: String,
    /// The file that the call changes: the full absolute path, as the machine resolved it.
    pub target: Option<String>,
    /// The place where the effect happens.
    pub place: Option<ProposalPlace>,
    /// The model's own texts.
    pub parts: Vec<ProposalPart>,
    /// A description of the calls that are no longer asked about once this one is allowed for good.
    pub always: Option<String>,
    /// The reason why the call cannot be allowed for good, if there is one.
    pub only_once: Option<String>,
    /// A note on anything that could not be determined.
    pub note: Option<String>,
}

/// The place of an effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProposalPlace {
    /// The machine's name, `__docker__`, or `none` for the server itself.
    pub machine: String,
    /// The directory in which the call begins, absolute and resolved.
    pub directory: String,
    /// The user account on the machine, if it is known.
    pub user: Option<String>,
}

/// A text of the model in a proposal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProposalPart {
    /// The label of the part.
    pub label: String,
    /// The text, with runs of blank lines replaced by their number.
    pub text: String,
    /// True if the change that is shown with the proposal contains this text too.
    pub is_in_edit: bool,
}

/// The data that the card of a call shows in addition to its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CardData {
    /// The model's list of tasks, in order.
    Todos(Vec<TodoItem>),
    /// The change of a file.
    Edit {
        /// The text before the change; `None` for a new file.
        old: Option<String>,
        /// The text after the change.
        new: String,
        /// The number of the first line of both texts in the file, counted from 1.
        first_line: usize,
        /// True if the change is longer than the texts shown here.
        is_cut: bool,
    },
    /// A card that the call builds or sends, as its API document; the engine only passes it on.
    Card(Value),
}

/// An item of the model's task list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TodoItem {
    /// The text of the item.
    pub content: String,
    /// The item's status: `pending`, `in_progress` or `completed`.
    pub status: &'static str,
}

impl Proposal {
    /// The proposal as text: one label per line, with the model's text quoted, so that no line of it can be mistaken for a label.
    pub fn to_text(&self) -> String {
        self.to_text_in(&str::to_owned)
    }

    /// Like [`Proposal::to_text`], with each label translated by `say`.
    pub fn to_text_in(&self, say: &dyn Fn(&str) -> String) -> String {
        let labelled = |label: &str, text: &str| format!("{}{text}", say(label));
        let mut lines = vec![self.effect.clone()];
        lines.extend(self.target.iter().map(|target| labelled("file: ", target)));
        if let Some(ProposalPlace { machine, directory, user }) = &self.place {
            lines.push(labelled("machine: ", machine));
            lines.push(labelled("directory: ", directory));
            lines.extend(user.iter().map(|user| labelled("user: ", user)));
        }
        for ProposalPart { label, text, .. } in &self.parts {
            lines.push(format!("{label}:"));
            lines.extend(text.split('\n').map(|line| format!("{QUOTE}{line}")));
        }
        lines.extend(self.note.iter().map(|note| labelled("note: ", note)));
        lines.extend(self.always.iter().map(|always| labelled("always: ", always)));
        lines.extend(self.only_once.iter().map(|why| labelled("only this once: ", why)));
        lines.join("\n")
    }

    /// The same proposal with the server's own words translated by `say`; paths, names and the model's texts are unchanged.
    pub fn said(&self, say: &dyn Fn(&str) -> String) -> Self {
        let say_some = |text: &Option<String>| text.as_deref().map(say);
        let part = |part: &ProposalPart| ProposalPart { label: say(&part.label), ..part.clone() };
        Self {
            effect: say(&self.effect),
            parts: self.parts.iter().map(part).collect(),
            always: say_some(&self.always),
            only_once: say_some(&self.only_once),
            note: say_some(&self.note),
            ..self.clone()
        }
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

    #[test]
    fn only_the_words_of_the_server_are_said_in_another_language() {
        let proposal = Proposal {
            effect: "runs".to_owned(),
            target: Some("/work/a".to_owned()),
            parts: vec![ProposalPart {
                label: "command".to_owned(),
                text: "ls".to_owned(),
                is_in_edit: false,
            }],
            always: Some("this".to_owned()),
            ..Proposal::default()
        };
        let say = |text: &str| text.to_uppercase();
        let said = proposal.said(&say).to_text_in(&say);
        assert_eq!(said, "RUNS\nFILE: /work/a\nCOMMAND:\n  | ls\nALWAYS: THIS");
    }
}
