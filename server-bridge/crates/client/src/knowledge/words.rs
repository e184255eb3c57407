//! Knowledge as text. Text of documents and names of other users' collections are shortened to one line, so that they cannot imitate other output.

use api::knowledge::{CollectionList, CollectionView, DocumentList, DocumentView, Found, KnowledgeStatus};
use api::words::CollectionSync;

use crate::output::{one_line, short_line, table};

/// The collections, as a table.
pub(super) fn list(list: &CollectionList) -> String {
    if list.collections.is_empty() {
        return "there are no collections; `sandbridge knowledge create NAME` adds one".to_owned();
    }
    let mut rows =
        vec![["number", "name", "owner", "documents", "from", "shared with"].map(str::to_owned).to_vec()];
    rows.extend(list.collections.iter().map(|one| {
        vec![
            one.id.to_string(),
            one_line(&one.name),
            one_line(&one.owner),
            counts(one),
            folder(one).unwrap_or_else(|| "uploads".to_owned()),
            readers(one),
        ]
    }));
    table(&rows)
}

/// A collection and its documents.
pub(super) fn whole(about: &CollectionView, list: &DocumentList) -> String {
    let mut lines =
        vec![format!("{} of {}: {}", one_line(&about.name), one_line(&about.owner), counts(about))];
    if let Some(folder) = folder(about) {
        lines.push(format!("folder: {folder}, {}", sync(about)));
    }
    if !about.waiting_note.is_empty() {
        lines.push(format!("waiting: {}", one_line(&about.waiting_note)));
    }
    if !about.search_note.is_empty() {
        lines.push(format!("note: {}", one_line(&about.search_note)));
    }
    if about.is_own {
        lines.push(format!("shared with: {}", readers(about)));
    }
    let row = |document: &DocumentView| {
        vec![
            document.state.to_string(),
            one_line(&document.kind),
            document.pages.to_string(),
            one_line(&document.name),
            one_line(&document.note),
        ]
    };
    if !list.documents.is_empty() {
        lines.push(table(&list.documents.iter().map(row).collect::<Vec<_>>()));
    }
    lines.join("\n")
}

/// The result of adding a collection.
pub(super) fn made(made: &CollectionView) -> String {
    let name = one_line(&made.name);
    match folder(made) {
        Some(folder) => {
            format!("the collection {name} was added; {folder} will be scanned now and every 10 minutes")
        }
        None => format!(
            "the collection {name} was added; `sandbridge knowledge add {name:?} FILE…` adds documents"
        ),
    }
}

/// The result of adding documents.
pub(super) fn added(documents: &[DocumentView]) -> String {
    let line = |document: &DocumentView| {
        let name = one_line(&document.name);
        match document.state.as_str() {
            "waiting" => format!("{name}: waiting to be indexed"),
            "ready" => format!("{name}: indexed, pages: {}{}", document.pages, after(&document.note)),
            _ => format!("{name}: {}", one_line(&document.note)),
        }
    };
    documents.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The passages that were found, and why they were found.
pub(super) fn found(found: &Found) -> String {
    let mut parts: Vec<String> = found.notes.iter().map(|note| format!("note: {}", one_line(note))).collect();
    if found.passages.is_empty() {
        parts.push("nothing was found; try other words".to_owned());
    }
    for passage in &found.passages {
        let why = match (passage.words_rank, passage.meaning_rank) {
            (Some(words), Some(meaning)) => format!("by words: rank {words}; by meaning: rank {meaning}"),
            (Some(words), None) => format!("by words: rank {words}"),
            (None, Some(meaning)) => format!("by meaning: rank {meaning}"),
            (None, None) => String::new(),
        };
        let matched = match passage.matched.is_empty() {
            true => String::new(),
            false => format!("; contains {}", one_line(&passage.matched.join(", "))),
        };
        let sheet = match passage.page_title.is_empty() {
            true => String::new(),
            false => format!(" ({})", one_line(&passage.page_title)),
        };
        parts.push(format!(
            "{}, page {}{sheet} of {} {}\n  {}\n  ({why}{matched})",
            one_line(&passage.document),
            passage.page,
            one_line(&passage.collection),
            passage.citation,
            short_line(&passage.text.split_whitespace().collect::<Vec<_>>().join(" "))
        ));
    }
    parts.join("\n")
}

/// The sharing of a collection after a change.
pub(super) fn shared(shared: &CollectionView) -> String {
    format!("{} is shared with: {}", one_line(&shared.name), readers(shared))
}

/// The queue of documents to index.
pub(super) fn status(status: &KnowledgeStatus) -> String {
    match (status.waiting, status.ahead) {
        (0, _) => "nothing is waiting to be indexed".to_owned(),
        (waiting, 0) => format!("waiting to be indexed: {waiting}"),
        (waiting, ahead) => {
            format!("waiting to be indexed: {waiting}; other users' items that come first: {ahead}")
        }
    }
}

fn counts(one: &CollectionView) -> String {
    let mut parts = vec![one.documents.to_string()];
    if one.waiting > 0 {
        parts.push(format!("{} waiting", one.waiting));
    }
    if one.failed > 0 {
        parts.push(format!("{} failed", one.failed));
    }
    parts.join(", ")
}

fn folder(one: &CollectionView) -> Option<String> {
    let (place, path) = (one.place.as_ref()?, one.path.as_deref().unwrap_or("."));
    Some(format!("{}:{}", one_line(place), one_line(path)))
}

fn sync(one: &CollectionView) -> String {
    let state = match &one.sync_state {
        None | Some(CollectionSync::Never) => "not scanned yet".to_owned(),
        Some(CollectionSync::Synced) => "in sync".to_owned(),
        Some(CollectionSync::Offline) => "the runner could not be reached".to_owned(),
        Some(CollectionSync::Gone) => "missing documents are kept".to_owned(),
        Some(CollectionSync::Failed) => "the folder could not be read".to_owned(),
        Some(CollectionSync::Unknown(word)) => one_line(word),
    };
    format!("{state}{}", after(&one.sync_note))
}

fn after(note: &str) -> String {
    if note.is_empty() { String::new() } else { format!(" ({})", one_line(note)) }
}

fn readers(one: &CollectionView) -> String {
    let mut names: Vec<String> = one.readers.iter().map(|name| one_line(name)).collect();
    if one.is_for_all {
        names.insert(0, "all users".to_owned());
    }
    if names.is_empty() { "nobody".to_owned() } else { names.join(", ") }
}
