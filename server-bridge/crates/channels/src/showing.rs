//! Shows the logs of groups in the conversations that are bound to them.
//!
//! Entries are put into the outbox in one transaction with the position up to which the log is shown. The outbox takes a few entries
//! at a time: the log itself is the queue. Entries that were not sent when a binding ends are never sent.

use api::language::Language;
use api::words::GateReply;
use platforms::Styled;
use platforms::styled::Style;
use store::{ChannelBinding, EntryKind, EntryToShow, Outgoing};

use crate::answers::{Target, parts};
use crate::error::Result;
use crate::house::{Inner, Live};
use crate::limits::{LANES, LOG_ENTRIES, LOG_TEXT_MAX_CHARS, LOG_WAITING};
use crate::logs::OpenGate;
use crate::outgoing::LOG;

/// The text of an entry for people: the author, then the text; the author has a separate line if the text has several.
fn entry_text(entry: &EntryToShow, language: Language, rest: &str) -> Styled {
    let text = match entry.kind {
        EntryKind::Agent => Styled::markdown(&entry.text),
        EntryKind::Person => Styled::plain(&entry.text),
        EntryKind::Server => Styled::plain(&language.translated(&entry.text)),
    };
    let gap = if text.text().contains('\n') { '\n' } else { ' ' };
    let mut shown = Styled::default();
    match entry.kind {
        EntryKind::Agent => shown.push(&format!("@{}:{gap}", entry.author), &Style::default()),
        EntryKind::Person => shown.push(&format!("{}:{gap}", entry.author), &Style::default()),
        EntryKind::Server => {}
    }
    for piece in &text.pieces {
        shown.push(&piece.text, &piece.style);
    }
    if entry.is_cut {
        shown.push(&format!("\n\n{rest}"), &Style::default());
    }
    shown
}

/// The text of a gate for people, with the commands that answer it.
fn gate_text(open: &OpenGate, language: Language) -> Styled {
    let gate = &open.gate;
    let mut text = format!("The chain {} asks:\n{}\nMention me and answer with:", open.chain, gate.question);
    for reply in &gate.replies {
        let words = match reply {
            GateReply::Edit | GateReply::Redo => " TEXT",
            _ => "",
        };
        text.push_str(&format!("\n/{} {}{words}", reply.as_str(), gate.id));
    }
    Styled::plain(&language.translated(&text))
}

impl Inner {
    /// Puts new entries of the logs of groups into the outbox.
    pub(crate) async fn show_logs(&self) -> Result<()> {
        for binding in self.store.bindings_behind(LOG_WAITING, LANES).await? {
            let Some(live) = self.usable(binding.account_id) else { continue };
            let group = binding.group;
            // An error of one group must not hold up the others.
            if let Err(error) = self.show_log(&live, binding).await {
                tracing::error!(%error, group, "the log of a group could not be shown; it is tried again");
            }
        }
        Ok(())
    }

    async fn show_log(&self, live: &Live, binding: ChannelBinding) -> Result<()> {
        let Some(logs) = self.logs() else { return Ok(()) };
        let Some(bound) = self.holds(live, binding).await? else { return Ok(()) };
        let binding = &bound.binding;
        let language = self.chats.language(bound.owner.id);
        // The entries about a gate are written before it opens. Reading the gates first makes sure that these entries are read too.
        let gates = logs.open_gates(binding.group, binding.shown_gate).await?;
        let entries = self.store.entries_to_show(binding, LOG_ENTRIES, LOG_TEXT_MAX_CHARS).await?;
        let has_more = i64::try_from(entries.len()).is_ok_and(|count| count >= LOG_ENTRIES);
        let target = Target::unasked(&binding.conversation, true, None);
        let rest = self.rest_of_log(binding.group, language);
        let (mut shown, mut rows) = ((binding.shown_entry, binding.shown_gate), Vec::new());
        let mut show = |what: String, text: &Styled| {
            let source = format!("{LOG}{}/{what}", binding.mark);
            rows.extend(target.rows(live.account.id, &source, parts(&*live.platform, text, &rest)));
        };
        for entry in &entries {
            shown.0 = entry.id;
            if !entry.is_own {
                show(format!("entry/{}", entry.id), &entry_text(entry, language, &rest));
            }
        }
        for open in gates.iter().filter(|_| !has_more) {
            shown.1 = open.gate.id;
            show(format!("gate/{}", open.gate.id), &gate_text(open, language));
        }
        if self.store.show_log(&live.account, binding, shown, &rows).await? && has_more {
            self.wake.notify_one();
        }
        Ok(())
    }

    /// True if a message of a log may be sent: its binding is the conversation's current one, and is valid.
    pub(crate) async fn is_still_bound(&self, live: &Live, row: &Outgoing, mark: &str) -> Result<bool> {
        let binding = self.store.channel_binding(row.account_id, &row.conversation).await?;
        match binding.filter(|binding| binding.mark == mark) {
            Some(binding) => Ok(self.holds(live, binding).await?.is_some()),
            None => Ok(false),
        }
    }

    /// The text that replaces the rest of a long entry.
    fn rest_of_log(&self, group: i64, language: Language) -> String {
        let text = match &self.around.public_url {
            Some(base) => format!("… The rest is on the page: {base}/#/groups/{group}"),
            None => "… The rest is on the server's page, in this group.".to_owned(),
        };
        language.translated(&text).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use api::chain::GateView;
    use api::words::GateKind;

    use super::*;

    #[test]
    fn entries_name_their_authors_and_gates_the_commands_that_answer_them() {
        let shown = |kind, author: &str, text: &str, is_cut| {
            let (author, text) = (author.to_owned(), text.to_owned());
            let entry = EntryToShow { id: 1, kind, author, text, is_cut, is_own: false };
            entry_text(&entry, Language::Chinese, "…").text()
        };
        assert_eq!(shown(EntryKind::Agent, "coder", "**hi**", false), "@coder: hi");
        assert_eq!(shown(EntryKind::Agent, "coder", "# One\n\n- two", false), "@coder:\nOne\n\n• two");
        assert_eq!(shown(EntryKind::Person, "bob", "**hi**", true), "bob: **hi**\n\n…");
        assert_eq!(shown(EntryKind::Server, "", "The chain story is done.", false), "链 story 已完成。");
        let gate = GateView {
            id: 7,
            step: 0,
            attempt: 1,
            kind: GateKind::Failure,
            question: "Step 1 (@coder) failed: no. Try again, write its output yourself, or stop?".to_owned(),
            replies: vec![GateReply::Redo, GateReply::Stop],
        };
        let open = OpenGate { chain: "story".to_owned(), gate };
        let text = gate_text(&open, Language::English).text();
        assert!(text.starts_with("The chain story asks:\nStep 1 (@coder) failed"), "{text}");
        assert!(text.ends_with(":\n/redo 7 TEXT\n/stop 7"), "{text}");
        let chinese = gate_text(&open, Language::Chinese).text();
        assert!(
            !chinese.contains("asks") && !chinese.contains("Answer") && !chinese.contains("TEXT"),
            "{chinese}"
        );
        assert!(chinese.contains("/redo 7"), "{chinese}");
    }
}
