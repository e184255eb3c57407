//! Shows the logs of groups in the conversations that are bound to them.
//!
//! Entries are put into the outbox in the same transaction that stores the position up to which the log is shown. The outbox takes a few
//! entries at a time, because the log itself serves as the queue. Entries that have not been sent when a binding ends are never sent.

use api::language::Language;
use platforms::Styled;
use platforms::styled::Style;
use store::{ChannelBinding, EntryKind, EntryToShow, Outgoing, ShownLog};

use crate::answers::{Target, parts};
use crate::error::Result;
use crate::gates::{asking_rows, ended_rows};
use crate::house::{Inner, Live};
use crate::limits::{LANES, LOG_ENTRIES, LOG_TEXT_MAX_CHARS, LOG_WAITING};
use crate::outgoing::LOG;

/// Returns the text of an entry as shown to people: the author, then the text; the author is on a separate line if the text has several lines.
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

impl Inner {
    /// Puts new entries of the logs of groups into the outbox.
    pub(crate) async fn show_logs(&self) -> Result<()> {
        for binding in self.store.bindings_behind(LOG_WAITING, LANES).await? {
            let Some(live) = self.usable(binding.account_id) else { continue };
            let group = binding.group;
            // An error of one group must not hold up the others.
            if let Err(error) = self.show_log(&live, binding).await {
                tracing::error!(%error, group, "the log of a group could not be shown; the server will try again");
            }
        }
        Ok(())
    }

    async fn show_log(&self, live: &Live, binding: ChannelBinding) -> Result<()> {
        let Some(logs) = self.logs() else { return Ok(()) };
        let Some(bound) = self.holds(live, binding).await? else { return Ok(()) };
        let binding = &bound.binding;
        let language = self.chats.language(bound.owner.id);
        // The entries about a gate are written before the gate opens, so reading the gates first guarantees that those entries are read too.
        let gates = logs.open_gates(binding.group, binding.shown_gate).await?;
        let entries = self.store.entries_to_show(binding, LOG_ENTRIES, LOG_TEXT_MAX_CHARS).await?;
        let has_more = i64::try_from(entries.len()).is_ok_and(|count| count >= LOG_ENTRIES);
        // The entries that follow from an answer are written after it, so the answers are read after the log, and shown before it.
        let ended = self.store.ended_questions(binding).await?;
        let target = Target::unasked(&binding.conversation, true, None);
        let rest = self.rest_of_log(binding.group, language);
        let (mark, account) = (&binding.mark, live.account.id);
        let (mut last_entry, mut last_gate) = (binding.shown_entry, binding.shown_gate);
        let mut rows = Vec::new();
        for question in &ended {
            rows.extend(ended_rows(live, &target, mark, question, language));
        }
        for entry in &entries {
            last_entry = entry.id;
            if !entry.is_own {
                let payloads = parts(&*live.platform, &entry_text(entry, language, &rest), &rest);
                rows.extend(target.rows(account, &format!("{LOG}{mark}/entry/{}", entry.id), payloads));
            }
        }
        for open in gates.iter().filter(|_| !has_more) {
            last_gate = open.gate.id;
            rows.extend(asking_rows(live, &target, (mark, &rest), open, language));
        }
        let told: Vec<i64> = ended.iter().map(|question| question.outbox_id).collect();
        let shown = ShownLog { entry: last_entry, gate: last_gate, outgoing: &rows, told: &told };
        if self.store.show_log(&live.account, binding, shown).await? && has_more {
            self.wake.notify_one();
        }
        Ok(())
    }

    /// Returns true if a message of a log may be sent: its binding is the conversation's current one, and is valid.
    pub(crate) async fn is_still_bound(&self, live: &Live, row: &Outgoing, mark: &str) -> Result<bool> {
        let binding = self.store.channel_binding(row.account_id, &row.conversation).await?;
        match binding.filter(|binding| binding.mark == mark) {
            Some(binding) => Ok(self.holds(live, binding).await?.is_some()),
            None => Ok(false),
        }
    }

    /// Returns the text that replaces the rest of a long entry.
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
    use super::*;

    #[test]
    fn entries_name_their_authors() {
        let shown = |kind, author: &str, text: &str, is_cut| {
            let (author, text) = (author.to_owned(), text.to_owned());
            let entry = EntryToShow { id: 1, kind, author, text, is_cut, is_own: false };
            entry_text(&entry, Language::Chinese, "…").text()
        };
        assert_eq!(shown(EntryKind::Agent, "coder", "**hi**", false), "@coder: hi");
        assert_eq!(shown(EntryKind::Agent, "coder", "# One\n\n- two", false), "@coder:\nOne\n\n• two");
        assert_eq!(shown(EntryKind::Person, "bob", "**hi**", true), "bob: **hi**\n\n…");
        assert_eq!(shown(EntryKind::Server, "", "The chain story is done.", false), "链 story 已完成。");
    }
}
