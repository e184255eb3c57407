//! The texts for users about an undo.

use store::{Kept, PastTurn};

use super::RestoredFile;
use super::files::Restored;
use crate::limits::{FILES_NAMED, SAID_SHOWN_CHARS};

/// The reason why a file's earlier state was not kept; `None` if it was.
pub(super) fn not_kept(kept: Kept) -> Option<&'static str> {
    match kept {
        Kept::Absent | Kept::Content => None,
        Kept::TooLarge => Some("it was too large to be kept"),
        Kept::Unreadable => Some("it could not be read before it was changed"),
        Kept::Dropped => Some("its earlier content is no longer kept"),
    }
}

/// The notice about the whole result.
pub(super) fn taken_back(turns: &[PastTurn], files: bool, restored: &Restored, commands: i64) -> String {
    let first = turns.last().map(|turn| said(&turn.text)).unwrap_or_default();
    let mut lines = vec![match turns.len() {
        1 => format!("Taken back: “{first}”"),
        count => format!("Taken back: {count} messages, from “{first}” on"),
    }];
    let of = |was_absent: bool| -> Vec<&RestoredFile> {
        restored.files.iter().filter(|(_, absent)| *absent == was_absent).map(|(file, _)| file).collect()
    };
    let (changed, made) = (of(false), of(true));
    if !changed.is_empty() {
        lines.push(format!("Restored: {}", named(&changed)));
    }
    if !made.is_empty() {
        lines.push(format!("Removed: {}", named(&made)));
    }
    lines.extend(because(&restored.not_restored));
    if !files {
        lines.push("Files stay as they are.".to_owned());
    }
    match commands {
        0 => {}
        1 => lines.push(
            "A command ran in the part that was taken back; what it changed stays as it is.".to_owned(),
        ),
        count => lines.push(format!(
            "{count} commands ran in the part that was taken back; what they changed stays as it is."
        )),
    }
    lines.join("\n")
}

/// The refusal if files were changed since.
pub(super) fn conflict(changed: &[RestoredFile], turns: usize) -> String {
    let files: Vec<&RestoredFile> = changed.iter().collect();
    let force = if turns == 1 { "/undo force".to_owned() } else { format!("/rewind {turns} --files force") };
    format!(
        "Nothing was taken back. Changed since by somebody else, or by a command: {}\n{force} restores them anyway; \
         /rewind {turns} takes back the conversation alone.",
        named(&files)
    )
}

/// The error if some of the files could not be restored.
pub(super) fn failed(restored: &Restored, failed: &[(RestoredFile, String)], turns: usize) -> String {
    let done: Vec<&RestoredFile> = restored.files.iter().map(|(file, _)| file).collect();
    let mut lines = because(failed);
    if !done.is_empty() {
        lines.push(format!("Restored: {}", named(&done)));
    }
    lines.push(format!(
        "The conversation stays as it is. Try again, or take back the conversation alone with /rewind {turns}."
    ));
    lines.join("\n")
}

fn because(files: &[(RestoredFile, String)]) -> Vec<String> {
    let line = |(file, why): &(RestoredFile, String)| {
        let RestoredFile { path, place, .. } = file;
        format!("Not restored: {} on {}: {}", path, place, why)
    };
    let mut lines: Vec<String> = files.iter().take(FILES_NAMED).map(line).collect();
    if files.len() > FILES_NAMED {
        lines.push(format!("Not restored: {} more", files.len() - FILES_NAMED));
    }
    lines
}

fn named(files: &[&RestoredFile]) -> String {
    let named = |file: &&RestoredFile| format!("{} ({})", file.path, file.place);
    let names: Vec<String> = files.iter().take(FILES_NAMED).map(named).collect();
    let names = names.join(", ");
    match files.len().saturating_sub(FILES_NAMED) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

/// The beginning of a message, on one line.
pub(crate) fn said(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = line.chars().take(SAID_SHOWN_CHARS).collect();
    if cut.len() < line.len() { format!("{cut}…") } else { cut }
}
