//! Recreates the words of passages that an older version of the analysis made, one document after another, in small changes. Until a
//! document's words are recreated, questions are answered from its older words.

use search::chunks::with_titles;
use search::tokens;
use store::{BarePassage, ChunkId, DocumentId, NewWords, OutdatedDocument};
use tokio::time::sleep;

use crate::index::computed;
use crate::limits::{ANALYSED_PASSAGES, ANALYSIS_PAUSE, RETRY};
use crate::service::Knowledge;

impl Knowledge {
    /// Goes through all documents once. A server that is killed starts again at the document that was not complete.
    pub(crate) async fn analyse_older(&self) {
        let mut after = DocumentId(0);
        loop {
            match self.analyse_next(after).await {
                Ok(Some(done)) => after = done,
                // This node may become the home of users whose documents are outdated.
                Ok(None) if self.0.store.is_node() => {
                    after = DocumentId(0);
                    sleep(RETRY).await;
                }
                Ok(None) => return,
                Err(error) => {
                    tracing::error!(%error, "the words of older documents could not be recreated; trying again");
                    sleep(RETRY).await;
                }
            }
        }
    }

    /// Recreates the words of the first outdated document after `after`; returns that document, or `None` if there is none.
    async fn analyse_next(&self, after: DocumentId) -> store::Result<Option<DocumentId>> {
        let store = &self.0.store;
        let Some(document) = store.outdated_document(after).await? else { return Ok(None) };
        let mut last = ChunkId(0);
        loop {
            let passages = store.passages_of(&document, last, ANALYSED_PASSAGES).await?;
            let Some(end) = passages.last() else { break };
            last = end.id;
            self.replace(&document, passages).await?;
            // Leaves time for other writes.
            sleep(ANALYSIS_PAUSE).await;
        }
        store.set_analysed(&document).await?;
        Ok(Some(document.id))
    }

    async fn replace(&self, document: &OutdatedDocument, passages: Vec<BarePassage>) -> store::Result<()> {
        let words = computed(move || passages.iter().map(words_of).collect::<Vec<_>>()).await;
        self.0.store.replace_words(document.user_id, &words).await
    }
}

fn words_of(passage: &BarePassage) -> NewWords {
    let headings: Vec<String> = passage.headings.lines().map(str::to_owned).collect();
    let words = tokens::document(&with_titles(&passage.document, &headings, passage.text()));
    NewWords { id: passage.id, words: words.words(), others: words.others() }
}
