//! Questions of a group's gates in the conversations that are bound to the group.
//!
//! ```text
//!   a gate opens ─▶ a message with buttons, or with the commands that answer it ─▶ pressed or written ─▶ the group accepts the first
//!                                                                                                        answer of a person who may give it
//!   the buttons are removed, and one line shows the answer and its author ◀── the answer is on record, wherever it was given ◀──┘
//! ```
//! Everybody in the conversation sees the buttons, so the group checks at each press whether the person may answer, as on the page.

use api::chain::{GateAnswer, GateView};
use api::language::Language;
use api::words::GateReply;
use platforms::Styled;
use platforms::event::Press as Pressed;
use store::{ChannelBinding, EndedQuestion, NewOutgoing, User};

use crate::answers::{Target, message, parts};
use crate::error::{Error, Result};
use crate::house::{Inner, Live};
use crate::incoming::{Handled, Incoming, after_word};
use crate::limits::PARTS_MAX;
use crate::logs::OpenGate;
use crate::offers::{Offer, offer};
use crate::outgoing::LOG;
use crate::questions::{Choice, FOR_OTHERS, GateChoice, NO_LONGER};

/// The time until which a gate's buttons are valid: without limit, because a gate waits as long as its run.
const FOR_EVER_MS: i64 = i64::MAX;

/// Returns the label of an answer's button; `None` for an answer that needs words.
fn label(reply: &GateReply) -> Option<&'static str> {
    match reply {
        GateReply::Approve => Some("Approve"),
        GateReply::Redo => Some("Do it again"),
        GateReply::More => Some("Allow the same budget again"),
        GateReply::Stop => Some("Stop the run"),
        GateReply::Edit | GateReply::Unknown(_) => None,
    }
}

/// Returns the question of a gate, with the name of its chain.
fn question(chain: &str, question: &str) -> String {
    format!("The chain {chain} asks:\n{question}")
}

/// Returns the last lines of a gate's message, which list the commands that answer it; if there are buttons, only the commands that take words.
fn commands(gate: &GateView, has_buttons: bool) -> String {
    let id = gate.id;
    if has_buttons {
        let takes = |reply: GateReply| gate.replies.contains(&reply);
        return match (takes(GateReply::Edit), takes(GateReply::Redo)) {
            (true, true) => format!("\nOr mention me and write: /edit {id} TEXT, /redo {id} TEXT"),
            (true, false) => format!("\nOr mention me and write: /edit {id} TEXT"),
            (false, _) => String::new(),
        };
    }
    let mut text = "\nMention me and answer with:".to_owned();
    for reply in &gate.replies {
        let words = match reply {
            GateReply::Edit | GateReply::Redo => " TEXT",
            _ => "",
        };
        text.push_str(&format!("\n/{} {id}{words}", reply.as_str()));
    }
    text
}

/// Returns the text of a gate as shown to people.
fn gate_text(open: &OpenGate, language: Language, has_buttons: bool) -> Styled {
    let text = question(&open.chain, &open.gate.question) + &commands(&open.gate, has_buttons);
    Styled::plain(&language.translated(&text))
}

/// Returns one line that states how a question ended.
fn outcome(ended: &EndedQuestion) -> String {
    let gate = ended.gate;
    match (&ended.reply, &ended.answered_by) {
        (Some(reply), Some(by)) => format!("{by} answered question {gate}: {reply}."),
        (None, _) | (_, None) => format!("Question {gate} no longer waits for an answer: its run has ended."),
    }
}

/// Parses a text that begins with a command for a gate; returns the answer that the command gives, and the text after it.
pub(crate) fn gate_command(text: &str) -> Option<(GateReply, &str)> {
    let answers = text.strip_prefix('/')?;
    GateReply::known().find_map(|reply| after_word(answers, reply.as_str()).map(|rest| (reply, rest)))
}

/// Creates the messages of an open gate for the conversation whose binding has this mark. `rest` replaces the part that does not fit.
pub(crate) fn asking_rows(
    live: &Live,
    target: &Target,
    (mark, rest): (&str, &str),
    open: &OpenGate,
    language: Language,
) -> Vec<NewOutgoing> {
    let (platform, gate) = (&*live.platform, open.gate.id);
    let of_reply = |reply: &GateReply| {
        let choice = Choice::Gate(GateChoice { gate, reply: reply.clone() });
        Some((language.translated(label(reply)?).into_owned(), choice))
    };
    let options: Vec<(String, Choice)> = match platform.caps().buttons {
        true => open.gate.replies.iter().filter_map(of_reply).collect(),
        false => Vec::new(),
    };
    let Offer { buttons, mut presses, .. } = offer(platform, language, 1, &options, FOR_EVER_MS);
    let rendered = platform.render(&gate_text(open, language, !buttons.is_empty()), &buttons);
    let payloads = if rendered.len() <= PARTS_MAX && !buttons.is_empty() {
        rendered.into_iter().map(message).collect()
    } else {
        // A question that is not shown in full gets no buttons.
        presses.clear();
        parts(platform, &gate_text(open, language, false), rest)
    };
    let mut rows = target.rows(live.account.id, &format!("{LOG}{mark}/gate/{gate}"), payloads);
    if let Some(last) = rows.last_mut() {
        (last.gate, last.presses) = (Some(gate), presses);
    }
    rows
}

/// Creates the messages about the end of a question: its own message without the buttons, where messages can be changed, and a new message.
pub(crate) fn ended_rows(
    live: &Live,
    target: &Target,
    mark: &str,
    ended: &EndedQuestion,
    language: Language,
) -> Vec<NewOutgoing> {
    let (platform, account) = (&*live.platform, live.account.id);
    let line = language.translated(&outcome(ended)).into_owned();
    let mut rows = Vec::new();
    if ended.has_buttons && platform.caps().edits {
        let asked = language.translated(&question(&ended.chain, &ended.question)).into_owned();
        let with_line = |asked: &str| platform.render(&Styled::plain(&format!("{asked}\n\n→ {line}")), &[]);
        let mut changed = with_line(&asked);
        if ended.part > 0 || changed.len() > 1 {
            // This message is the last of several, so it cannot show the whole question.
            changed = with_line(asked.lines().next().unwrap_or_default());
        }
        let source = format!("{LOG}{mark}/ended/{}", ended.outbox_id);
        rows = target.rows(account, &source, changed.into_iter().take(1).map(message).collect());
        for row in &mut rows {
            row.edit_of = Some(ended.outbox_id);
        }
    }
    let payloads = parts(platform, &Styled::plain(&line), "…");
    rows.extend(target.rows(account, &format!("{LOG}{mark}/answer/{}", ended.gate), payloads));
    rows
}

impl Inner {
    /// Answers a gate with a command that a person wrote; `text` is the part after the command's word.
    pub(crate) async fn write_gate(
        &self,
        incoming: &Incoming<'_>,
        user: &User,
        group: i64,
        (reply, rest): (GateReply, &str),
    ) -> Result<Handled> {
        let say = |text: &str| Ok(incoming.say(None, self.chats.language(user.id), text));
        let (number, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let Ok(gate) = number.parse::<i64>() else {
            return say(&format!(
                "Write the question's number after the command, as in /{} 7",
                reply.as_str()
            ));
        };
        let text = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        match self.answer_gate(user, group, gate, GateAnswer { reply, text }).await {
            // The outcome is shown in this conversation in the same way as in all others.
            Ok(()) => Ok(Handled::silent()),
            Err(error) => self.refused(incoming, user, error),
        }
    }

    /// Passes a press in a conversation that is bound to a group on to the group; returns the text for the person who pressed.
    pub(crate) async fn press_gate(
        &self,
        incoming: &Incoming<'_>,
        user: Option<&User>,
        pressed: &Pressed,
        binding: ChannelBinding,
    ) -> Result<String> {
        let press = self.known_press(incoming, pressed).await?;
        let Some(press) = press else { return Ok(NO_LONGER.to_owned()) };
        let Some(Choice::Gate(GateChoice { gate, reply })) = Choice::of(&press) else {
            return Ok(NO_LONGER.to_owned());
        };
        let Some(user) = user else { return Ok(FOR_OTHERS.to_owned()) };
        let Some(bound) = self.holds(incoming.live, binding).await? else { return Ok(NO_LONGER.to_owned()) };
        match self.answer_gate(user, bound.binding.group, gate, GateAnswer { reply, text: None }).await {
            Ok(()) => Ok(press.label),
            Err(Error::Store(error)) if !error.is_callers() => Err(error.into()),
            Err(error) => Ok(error.of_group()),
        }
    }

    async fn answer_gate(&self, user: &User, group: i64, gate: i64, answer: GateAnswer) -> Result<()> {
        let Some(logs) = self.logs() else { return Ok(()) };
        logs.answer_gate(user, group, gate, answer).await?;
        self.wake.notify_one();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use api::words::GateKind;

    use super::*;

    #[test]
    fn only_the_answers_of_gates_are_commands() {
        assert_eq!(gate_command("/approve 7"), Some((GateReply::Approve, "7")));
        assert_eq!(gate_command("/redo 7 make it\nshort"), Some((GateReply::Redo, "7 make it\nshort")));
        assert_eq!(gate_command("/stop"), Some((GateReply::Stop, "")));
        for other in ["/stopping 7", "approve 7", "/cancel", "!approve 7", "/ approve 7", ""] {
            assert_eq!(gate_command(other), None, "{other}");
        }
    }

    #[test]
    fn a_gate_names_the_commands_that_its_buttons_do_not_give() {
        let open = |replies: &[GateReply]| OpenGate {
            chain: "story".to_owned(),
            gate: GateView {
                id: 7,
                step: 0,
                attempt: 1,
                kind: GateKind::Failure,
                question: "Step 1 (@coder) failed: no. Try again, write its output yourself, or stop?"
                    .to_owned(),
                replies: replies.to_vec(),
            },
        };
        let (edit, redo, stop) = (GateReply::Edit, GateReply::Redo, GateReply::Stop);
        let of_failure = open(&[redo, edit.clone(), stop.clone()]);
        let text = gate_text(&of_failure, Language::English, false).text();
        assert!(text.starts_with("The chain story asks:\nStep 1 (@coder) failed"), "{text}");
        assert!(text.ends_with(":\n/redo 7 TEXT\n/edit 7 TEXT\n/stop 7"), "{text}");
        let ends = |open: &OpenGate, language| {
            let text = gate_text(open, language, true).text();
            text.lines().last().unwrap_or_default().to_owned()
        };
        assert_eq!(
            ends(&of_failure, Language::English),
            "Or mention me and write: /edit 7 TEXT, /redo 7 TEXT"
        );
        let at_last = open(&[edit, stop.clone()]);
        assert_eq!(ends(&at_last, Language::English), "Or mention me and write: /edit 7 TEXT");
        assert!(ends(&open(&[stop]), Language::English).ends_with("or stop?"), "nothing but buttons");
        for open in [&of_failure, &at_last] {
            for has_buttons in [false, true] {
                let chinese = gate_text(open, Language::Chinese, has_buttons).text();
                let is_english =
                    ["asks", "Answer", "mention", "TEXT"].iter().any(|word| chinese.contains(word));
                assert!(!is_english && chinese.contains("/edit 7"), "{chinese}");
            }
        }
        for reply in GateReply::known() {
            let Some(label) = label(&reply) else { continue };
            assert_ne!(Language::Chinese.translated(label), label);
        }
    }
}
