//! A model's questions to the person at the terminal; other events are shown in the meantime.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};

use api::document::ToolData;
use api::turn::{ApprovalAnswer, QuestionAnswer};
use tokio::sync::mpsc;

use super::printer::{Printer, visible};
use super::read_lines;
use crate::card;
use crate::failure::Failure;

/// The default width of a terminal, in cells.
const COLUMNS: u16 = 80;

/// The source of answers to a model's questions.
pub(super) enum Answers {
    /// A person at a terminal.
    Person(mpsc::Receiver<String>),
    /// No person: questions are answered at once, so that a program never waits for one.
    Nobody,
}

impl Answers {
    pub(super) fn new(as_json: bool) -> Result<Self, Failure> {
        let has_person = !as_json && std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        if has_person { Ok(Self::Person(read_lines()?)) } else { Ok(Self::Nobody) }
    }
}

/// An answer in the server's form.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    /// Permission for a tool.
    Approval(ApprovalAnswer),
    /// An answer in words.
    Question(QuestionAnswer),
}

/// A tool that waits for its user's answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Asking {
    /// The name of the tool.
    pub(super) tool: String,
    /// The complete request for approval, or the question.
    pub(super) detail: String,
    /// Further data of the question, such as the answers to choose from.
    pub(super) data: Option<ToolData>,
}

impl Asking {
    /// The answers to choose from, if it asks a question.
    pub(super) fn options(&self) -> Option<&[String]> {
        match &self.data {
            Some(ToolData::Question { options }) => Some(options),
            _ => None,
        }
    }
}

/// The pending questions, the oldest first; they are asked one at a time.
#[derive(Default)]
pub(super) struct Questions {
    waiting: BTreeMap<i64, Asking>,
    asked: Option<i64>,
}

impl Questions {
    /// Adds a tool that waits for an answer.
    pub(super) fn add(&mut self, id: i64, asking: Asking) {
        self.waiting.insert(id, asking);
    }

    /// Removes a tool that no longer waits.
    pub(super) fn settle(&mut self, id: i64) {
        self.waiting.remove(&id);
        if self.asked == Some(id) {
            self.asked = None;
            println!();
        }
    }

    /// Asks the oldest question, unless one is being asked. If there is no person to ask, returns an answer that reports this.
    pub(super) fn ask(&mut self, printer: &Printer, answers: &mut Answers) -> Option<Answer> {
        if self.asked.is_some() {
            return None;
        }
        let (&id, agent) = self.waiting.first_key_value()?;
        match answers {
            Answers::Person(lines) => {
                // Text typed before the question does not answer it.
                while lines.try_recv().is_ok() {}
                prompt(agent);
                self.asked = Some(id);
                None
            }
            Answers::Nobody => {
                printer.cannot_answer(agent);
                let answer = answer(id, agent, None);
                self.waiting.remove(&id);
                Some(answer)
            }
        }
    }

    /// Waits for a line of the person who was asked; waits forever if nobody was asked.
    pub(super) async fn line(&self, answers: &mut Answers) -> Option<String> {
        match answers {
            Answers::Person(lines) if self.asked.is_some() => lines.recv().await,
            Answers::Person(_) | Answers::Nobody => std::future::pending().await,
        }
    }

    /// The answer in a line; `None` at the end of the input.
    pub(super) fn answered(&mut self, line: Option<String>) -> Option<Answer> {
        let id = self.asked.take()?;
        let agent = self.waiting.remove(&id)?;
        // A person who ends the input is present, so this counts as a refusal.
        Some(answer(id, &agent, Some(line.as_deref().unwrap_or_default())))
    }
}

fn prompt(agent: &Asking) {
    let columns = ratatui::crossterm::terminal::size().map_or(COLUMNS, |(columns, _)| columns);
    for line in card::lines(&visible(&agent.detail), columns.into()) {
        println!("{line}");
    }
    match agent.options() {
        Some(options) => {
            for (number, option) in (1..).zip(options) {
                println!("  │ {number}) {}", visible(option).replace('\n', " "));
            }
            let how = if options.is_empty() { "" } else { " (a number, or in your own words)" };
            print!("  answer{how}, empty for none: ");
        }
        None => {
            let tool = visible(&agent.tool);
            let always = if matches!(agent.data, Some(ToolData::Once)) { "" } else { "[a]lways, " };
            print!("  allow {tool}? [y]es, {always}[N]o: ");
        }
    }
    // If this fails, the person does not see the question, and will not answer it.
    let _ = std::io::stdout().flush();
}

fn answer(id: i64, agent: &Asking, line: Option<&str>) -> Answer {
    let is_there = line.is_some();
    let line = line.unwrap_or_default().trim();
    if let Some(options) = agent.options() {
        let chosen = line.parse::<usize>().ok().and_then(|number| options.get(number.checked_sub(1)?));
        let text = Some(chosen.map_or(line, String::as_str)).filter(|text| !text.is_empty());
        return Answer::Question(QuestionAnswer { message_id: id, text: text.map(str::to_owned) });
    }
    let (allow, always) = match line {
        "y" | "yes" => (true, false),
        "a" | "always" => (true, true),
        _ => (false, false),
    };
    Answer::Approval(ApprovalAnswer { message_id: id, allow, always, nobody: !is_there })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell() -> Asking {
        Asking { tool: "Shell".to_owned(), ..Asking::default() }
    }

    #[test]
    fn a_line_allows_or_does_not() {
        let agent = shell();
        for (line, allow, always) in [
            (Some(" yes "), true, false),
            (Some("a"), true, true),
            (Some(""), false, false),
            (None, false, false),
        ] {
            let expected = ApprovalAnswer { message_id: 7, allow, always, nobody: line.is_none() };
            assert_eq!(answer(7, &agent, line), Answer::Approval(expected));
        }
    }

    #[test]
    fn a_line_chooses_or_says_it_in_its_own_words() {
        let options = vec!["red".to_owned(), "blue".to_owned()];
        let agent = Asking { data: Some(ToolData::Question { options }), ..Asking::default() };
        for (line, text) in [
            (Some("2"), Some("blue")),
            (Some("0"), Some("0")),
            (Some("3"), Some("3")),
            (Some(" green\n"), Some("green")),
            (Some(" "), None),
            (None, None),
        ] {
            let expected = QuestionAnswer { message_id: 7, text: text.map(str::to_owned) };
            assert_eq!(answer(7, &agent, line), Answer::Question(expected), "{line:?}");
        }
    }

    #[tokio::test]
    async fn one_question_at_a_time_is_asked_and_only_while_it_waits() {
        let (printer, (sender, lines)) = (Printer::new(false), mpsc::channel(4));
        let (mut questions, mut answers) = (Questions::default(), Answers::Person(lines));
        sender.send("typed before".to_owned()).await.unwrap();
        questions.add(1, shell());
        questions.add(2, shell());
        assert_eq!(questions.ask(&printer, &mut answers), None);
        sender.send("y".to_owned()).await.unwrap();
        let line = questions.line(&mut answers).await;
        let allowed = ApprovalAnswer { message_id: 1, allow: true, always: false, nobody: false };
        assert_eq!(questions.answered(line), Some(Answer::Approval(allowed)));
        questions.ask(&printer, &mut answers);
        questions.settle(2);
        assert_eq!(questions.answered(Some("y".to_owned())), None, "somebody else was faster");
        questions.add(3, shell());
        let denied = ApprovalAnswer { message_id: 3, allow: false, always: false, nobody: true };
        assert_eq!(questions.ask(&printer, &mut Answers::Nobody), Some(Answer::Approval(denied)));
        assert_eq!(questions.ask(&printer, &mut Answers::Nobody), None);
    }
}
