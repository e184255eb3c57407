//! What a person is asked to allow: the whole of it, in one shape for the page, the terminals and programs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What stands before each line of a part: nothing of the document's own begins so.
const QUOTE: &str = "  | ";

/// What a tool wants to do. All texts are shown as they are: what cannot be seen in them is written out already.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalDocument {
    /// What it does, in words.
    pub effect: String,
    /// The file that it changes, absolute and whole, as the machine resolved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub target: Option<String>,
    /// Where it does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub place: Option<ApprovalPlace>,
    /// What the model wrote.
    pub parts: Vec<ApprovalPart>,
    /// What is not asked for any more where it is allowed for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub always: Option<String>,
    /// Why it cannot be allowed for good, where it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub only_once: Option<String>,
    /// What could not be found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub note: Option<String>,
}

/// A place that something is done in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalPlace {
    /// The machine's name, `__docker__`, or `none` for the server itself.
    pub machine: String,
    /// The directory that it begins in, absolute and resolved.
    pub directory: String,
    /// The user of the machine, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub user: Option<String>,
}

/// Something that the model wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalPart {
    /// What it is.
    pub label: String,
    /// It, with runs of blank lines counted.
    pub text: String,
    /// Whether the change beside it, where there is one, shows it too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_in_edit: bool,
}

impl ApprovalDocument {
    /// The same as text: a label a line, and what the model wrote quoted, so that no line of it can be taken for a label.
    pub fn to_text(&self) -> String {
        let mut lines = vec![self.effect.clone()];
        lines.extend(self.target.iter().map(|target| format!("file: {target}")));
        if let Some(ApprovalPlace { machine, directory, user }) = &self.place {
            lines.push(format!("machine: {machine}"));
            lines.push(format!("directory: {directory}"));
            lines.extend(user.iter().map(|user| format!("user: {user}")));
        }
        for ApprovalPart { label, text, .. } in &self.parts {
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
        let document = ApprovalDocument {
            effect: "runs a command".to_owned(),
            place: Some(ApprovalPlace {
                machine: "laptop".to_owned(),
                directory: "/work".to_owned(),
                user: None,
            }),
            parts: vec![ApprovalPart { label: "command".to_owned(), text, is_in_edit: false }],
            only_once: Some("it is asked each time".to_owned()),
            ..ApprovalDocument::default()
        };
        let expected = "runs a command\nmachine: laptop\ndirectory: /work\ncommand:\n  | ls\n  | reason: it is harmless\n  | \n  \
                        |   | reason:\n  | always: nothing\nthis once only: it is asked each time";
        assert_eq!(document.to_text(), expected);
    }
}
