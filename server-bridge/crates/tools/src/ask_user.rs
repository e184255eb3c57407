//! `AskUser`: asks the user a question and waits for the answer.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Failure, Outcome};
use crate::Services;
use crate::limits::{QUESTION_CHARS, QUESTION_OPTION_CHARS, QUESTION_OPTIONS};
use agent::approval::Access;
use agent::tool::{Beside, ForSubAgents, Live, Phrase, Question, Rules, ToolContext, TypedTool};

/// The question to ask.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The question, with everything that the user needs to know to answer it.
    question: String,
    /// Answers to choose from, at most 10; the user may always say something else.
    #[serde(default)]
    options: Vec<String>,
}

impl TypedTool for Arguments {
    type Services = Services;

    const NAME: &'static str = "AskUser";
    const DESCRIPTION: &'static str = "Asks the user a question and waits for the answer. Use it only for what you cannot find \
        out yourself and what makes a difference: a choice that is theirs, where a secret is kept, a doubt about what \
        they want.";
    // The user is asked one question at a time.
    const RULES: Rules = Rules::of(Access::Read)
        .beside(Beside::Nothing)
        .for_sub_agents(ForSubAgents::Never)
        .waits_for_its_user()
        .without_machine();

    fn hint(&self) -> &str {
        &self.question
    }

    async fn run(
        &self,
        _services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        self.check()?;
        // A cancelled turn drops this future, which withdraws the question.
        Ok(match context.host.ask(&self.asked()).await? {
            Some(words) => Outcome::done(words),
            None => Outcome {
                is_error: true,
                ..Outcome::done(
                    "Nobody answered. Go on with the safest choice and say what you assumed; or end here and say what you need to \
                     know.",
                )
            },
        })
    }
}

impl Arguments {
    /// The question as the user sees it: all of its text is the model's.
    fn asked(&self) -> Question {
        let options = self.options.iter().map(Phrase::theirs).collect();
        Question { text: vec![Phrase::theirs(&self.question)], options }
    }

    fn check(&self) -> Result<(), Failure> {
        let long = |text: &str, most| text.trim().is_empty() || text.chars().count() > most;
        if long(&self.question, QUESTION_CHARS) {
            return Err(Failure::Message(format!("a question must have 1 to {QUESTION_CHARS} characters")));
        }
        if self.options.len() > QUESTION_OPTIONS {
            return Err(Failure::Message(format!("a question can have at most {QUESTION_OPTIONS} options")));
        }
        if self.options.iter().any(|option| long(option, QUESTION_OPTION_CHARS)) {
            return Err(Failure::Message(format!(
                "an option must have 1 to {QUESTION_OPTION_CHARS} characters"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_and_options_have_their_bounds() {
        let ask = |question: String, options: Vec<String>| Arguments { question, options }.check().is_ok();
        let full = vec!["é".repeat(QUESTION_OPTION_CHARS); QUESTION_OPTIONS];
        assert!(ask("é".repeat(QUESTION_CHARS), full.clone()));
        assert!(!ask("é".repeat(QUESTION_CHARS + 1), vec![]));
        assert!(!ask(" \n".to_owned(), vec![]));
        assert!(!ask("?".to_owned(), vec!["a".to_owned(); QUESTION_OPTIONS + 1]));
        assert!(!ask("?".to_owned(), vec!["é".repeat(QUESTION_OPTION_CHARS + 1)]));
        assert!(!ask("?".to_owned(), vec![String::new()]));
    }
}
