//! A question to a person in the course of a call.

/// A piece of a question, or an option to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phrase {
    /// Words of the server, which are shown in the person's language.
    Ours(String),
    /// Words of a model, a program or a file, which are not translated.
    Theirs(String),
}

impl Phrase {
    /// A phrase of the server.
    pub fn ours(words: impl Into<String>) -> Self {
        Self::Ours(words.into())
    }

    /// A phrase from any other source.
    pub fn theirs(words: impl Into<String>) -> Self {
        Self::Theirs(words.into())
    }

    /// The words as they were written.
    pub fn words(&self) -> &str {
        match self {
            Self::Ours(words) | Self::Theirs(words) => words,
        }
    }

    /// The words in the form that is shown: the server's own are translated by `say`.
    pub fn said(&self, say: &dyn Fn(&str) -> String) -> String {
        match self {
            Self::Ours(words) => say(words),
            Self::Theirs(words) => words.clone(),
        }
    }
}

/// A question, with or without options to choose from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// The text, piece by piece; nothing is put between the pieces.
    pub text: Vec<Phrase>,
    /// The options to choose from; empty if there are none.
    pub options: Vec<Phrase>,
}

impl Question {
    /// The text and the options in the form that is shown.
    pub fn said(&self, say: &dyn Fn(&str) -> String) -> (String, Vec<String>) {
        let text = self.text.iter().map(|phrase| phrase.said(say)).collect();
        (text, self.options.iter().map(|option| option.said(say)).collect())
    }
}
