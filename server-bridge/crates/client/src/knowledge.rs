//! `sandbridge knowledge`: collections of documents that models search.

mod routes;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;

use api::knowledge::{CollectionDraft, DocumentList, DocumentView, Question, ShareWith};
use api::words::DocumentState;
use clap::Parser;

use super::failure::{FAILED, Failure};
use super::http::Client;
use super::output;
use super::output::{Named, both};
use crate::command::{Command, block_on};
use crate::globals::Globals;

/// Manage the documents that your models can search: collections of files, and folders of your runners
#[derive(Parser)]
pub(crate) enum KnowledgeCommand {
    /// List the collections that you can search
    List,
    /// Show a collection and its documents
    Show {
        /// The collection's name or number
        collection: String,
    },
    /// Add a collection of files
    Create {
        /// The name of the new collection
        name: String,
    },
    /// Add files to a collection, or replace the documents with these names
    Add {
        /// The collection's name or number
        collection: String,
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Wait until they are indexed
        #[arg(long)]
        wait: bool,
    },
    /// Add a collection that is kept in sync with a runner's folder
    AddFolder {
        /// The runner and the path of the folder on it
        #[arg(value_name = "RUNNER:PATH")]
        folder: String,
        /// The collection's name [default: the folder's name]
        #[arg(long)]
        name: Option<String>,
    },
    /// Scan the folder of a collection again
    Sync {
        /// The collection's name or number
        collection: String,
        /// Remove the documents whose files are missing from the folder, however many there are
        #[arg(long)]
        remove_missing: bool,
    },
    /// Search the documents
    Search {
        /// The words to find, or a question
        query: String,
        /// Only in this collection
        #[arg(long, value_name = "COLLECTION")]
        r#in: Option<String>,
        /// The maximum number of passages, from 1 to 10 [default: 10]
        #[arg(long)]
        limit: Option<u32>,
    },
    /// Share one of your collections with a user, or with all users
    Share {
        /// The collection's name or number
        collection: String,
        /// The user [default: all users]
        user: Option<String>,
    },
    /// Stop sharing one of your collections with a user, or with all users; it stays shared with the others
    Unshare {
        /// The collection's name or number
        collection: String,
        /// The user [default: all users]
        user: Option<String>,
    },
    /// Delete one of your collections, or one of its documents
    Delete {
        /// The collection's name or number
        collection: String,
        /// The document's name [default: the whole collection]
        document: Option<String>,
    },
    /// Show how many documents and folders wait to be indexed
    Status,
}

impl Command for KnowledgeCommand {
    const NAME: &'static str = "knowledge";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self))
    }
}

async fn run(globals: &Globals, command: KnowledgeCommand) -> Result<ExitCode, Failure> {
    let session = globals.session()?;
    let mut client = Client::new(&session)?;
    let mut code = ExitCode::SUCCESS;
    let (line, words) = match command {
        KnowledgeCommand::List => {
            let list = client.collections().await?;
            both(&list, words::list(&list))
        }
        KnowledgeCommand::Show { collection } => {
            let about = client.collection(&collection).await?;
            let documents = all_documents(&mut client, &collection).await?;
            both(&documents, words::whole(&about, &documents))
        }
        KnowledgeCommand::Create { name } => {
            let draft = CollectionDraft { name, ..CollectionDraft::default() };
            let made = client.create_collection(&draft).await?;
            both(&made, words::made(&made))
        }
        KnowledgeCommand::Add { collection, files, wait } => {
            let mut added = DocumentList::default();
            for file in &files {
                added.documents.push(client.add_document(&collection, file).await?);
            }
            if wait {
                wait_for(&mut client, &collection, &mut added.documents).await?;
            }
            if added.documents.iter().any(|document| document.state == DocumentState::Failed) {
                code = ExitCode::from(FAILED);
            }
            both(&added, words::added(&added.documents))
        }
        KnowledgeCommand::AddFolder { folder, name } => {
            let (place, path) =
                folder.split_once(':').filter(|(place, _)| !place.is_empty()).ok_or_else(|| {
                    Failure::other("invalid", "name the folder as RUNNER:PATH, such as laptop:docs")
                })?;
            let last =
                path.trim_end_matches('/').rsplit('/').next().filter(|last| !matches!(*last, "" | "."));
            let name = name.unwrap_or_else(|| last.unwrap_or(place).to_owned());
            let path = Some(path.to_owned()).filter(|path| !path.is_empty());
            let draft = CollectionDraft { name, place: Some(place.to_owned()), path };
            let made = client.create_collection(&draft).await?;
            both(&made, words::made(&made))
        }
        KnowledgeCommand::Sync { collection, remove_missing } => {
            client.sync_collection(&collection, remove_missing).await?;
            let words = "the folder will be scanned; `sandbridge knowledge show` shows the result";
            both(&Named { name: &collection }, words)
        }
        KnowledgeCommand::Search { query, r#in, limit } => {
            let found = client.search_knowledge(&Question { query, collection: r#in, limit }).await?;
            both(&found, words::found(&found))
        }
        KnowledgeCommand::Share { collection, user } => {
            let shared = client.share_collection(&collection, &ShareWith { user, is_shared: true }).await?;
            both(&shared, words::shared(&shared))
        }
        KnowledgeCommand::Unshare { collection, user } => {
            let shared = client.share_collection(&collection, &ShareWith { user, is_shared: false }).await?;
            both(&shared, words::shared(&shared))
        }
        KnowledgeCommand::Delete { collection, document: None } => {
            client.delete_collection(&collection).await?;
            both(&Named { name: &collection }, format!("the collection {collection} was deleted"))
        }
        KnowledgeCommand::Delete { collection, document: Some(name) } => {
            let documents = all_documents(&mut client, &collection).await?.documents;
            let document = documents.iter().find(|document| document.name == name);
            let missing = || {
                Failure::other(
                    "not_found",
                    format!(
                        "the collection has no document {name:?}; `sandbridge knowledge show` lists its documents"
                    ),
                )
            };
            client.delete_document(document.ok_or_else(missing)?.id).await?;
            both(&Named { name: &name }, format!("the document {name} was deleted"))
        }
        KnowledgeCommand::Status => {
            let status = client.knowledge_status().await?;
            both(&status, words::status(&status))
        }
    };
    output::line(if globals.json { &line } else { &words });
    Ok(code)
}

/// The documents of a collection, page by page.
async fn all_documents(client: &mut Client, collection: &str) -> Result<DocumentList, Failure> {
    let mut all = DocumentList::default();
    loop {
        let after = all.documents.last().map_or_else(String::new, |last| last.name.clone());
        let more = client.documents(collection, &after).await?.documents;
        if more.is_empty() {
            return Ok(all);
        }
        all.documents.extend(more);
    }
}

/// Waits until all of these documents are indexed, or have failed.
async fn wait_for(client: &mut Client, collection: &str, added: &mut [DocumentView]) -> Result<(), Failure> {
    loop {
        let now = all_documents(client, collection).await?.documents;
        for document in added.iter_mut() {
            if let Some(found) = now.iter().find(|found| found.id == document.id) {
                *document = found.clone();
            }
        }
        if added.iter().all(|document| document.state != DocumentState::Waiting) {
            return Ok(());
        }
        tokio::time::sleep(super::limits::INDEX_POLL).await;
    }
}
