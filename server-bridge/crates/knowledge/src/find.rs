//! The passages that answer a question: ranked by words and by meaning, among what the user may search.

use api::knowledge::{Found, FoundPassage};
use search::{fuse, tokens};
use store::{ChunkId, SearchScope, User, WordsQuery};

use crate::compare::ByMeaning;
use crate::error::Result;
use crate::limits::{FOUND, QUESTION_BYTES, RANKED};
use crate::service::Knowledge;

impl Knowledge {
    /// The passages that answer a question best: of one collection, or of all that the user may search.
    ///
    /// # Errors
    /// [`crate::Error::Store`] if there is no such collection, or the search takes too long.
    pub async fn find(
        &self,
        user: &User,
        question: &str,
        collection: Option<&str>,
        most: usize,
    ) -> Result<Found> {
        let scope = self.scope(user.id, None, collection).await?;
        self.find_in(user, question, &scope, most).await
    }

    /// Searches within a scope.
    ///
    /// # Errors
    /// [`crate::Error::Store`] if the search takes too long.
    pub(crate) async fn find_in(
        &self,
        user: &User,
        question: &str,
        scope: &SearchScope,
        most: usize,
    ) -> Result<Found> {
        let question = &question[..question.floor_char_boundary(QUESTION_BYTES)];
        let (by_words, by_meaning) =
            tokio::join!(self.by_words(user, scope, question), self.by_meaning(user.id, scope, question));
        let (by_words, ByMeaning { ranked: by_meaning, notes }) = (by_words?, by_meaning);
        let mut found = Found { notes, ..Found::default() };
        let rank = |ranking: &[ChunkId], id| ranking.iter().position(|other| *other == id);
        let rank = |ranking, id| rank(ranking, id).map(|place| place as i64 + 1);
        for (id, score) in fuse::hybrid(&by_words, &by_meaning) {
            if found.passages.len() == most.clamp(1, FOUND) {
                break;
            }
            // The passage may just have been removed, or a new version swapped in.
            let Some(passage) = self.0.store.passage(user.id, id).await? else { continue };
            let text = passage.text().to_owned();
            found.passages.push(FoundPassage {
                citation: citation(passage.document_id.0, passage.page, passage.span_start, passage.span_end),
                document_id: passage.document_id.0,
                document: passage.document,
                collection: passage.collection,
                page: passage.page,
                page_title: passage.title,
                start: passage.span_start,
                end: passage.span_end,
                headings: passage.headings.lines().map(str::to_owned).collect(),
                matched: matched(question, &text),
                text,
                score,
                words_rank: rank(&by_words, id),
                meaning_rank: rank(&by_meaning, id),
            });
        }
        Ok(found)
    }

    async fn by_words(&self, user: &User, scope: &SearchScope, question: &str) -> Result<Vec<ChunkId>> {
        let query = tokens::query(question);
        let Some(fts5) = query.any_fts5() else { return Ok(Vec::new()) };
        let words = WordsQuery { fts5, tsqueries: query.any_tsqueries() };
        let ranked = self.0.store.search_passages(user.id, scope, &words, RANKED).await?;
        Ok(ranked.into_iter().map(|ranked| ranked.id).collect())
    }
}

/// A citation as an answer contains it, and clients open it.
pub(crate) fn citation(document: i64, page: i64, start: i64, end: i64) -> String {
    format!("[doc:{document}#{page}@{start}-{end}]")
}

/// The words of a question that a passage contains, as they are written in the question.
fn matched(question: &str, text: &str) -> Vec<String> {
    let text = tokens::document(text);
    let all = format!(" {} {} ", text.words(), text.others());
    let mut matched: Vec<String> = Vec::new();
    for word in question.split_whitespace() {
        let parts = tokens::document(word);
        let words = parts.words();
        let others = parts.others();
        let mut each = words.split(' ').chain(others.split(' ')).filter(|part| !part.is_empty());
        let is_there = each.any(|part| all.contains(&format!(" {part} ")));
        if is_there && !matched.iter().any(|one| one == word) {
            matched.push(word.to_owned());
        }
    }
    matched
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_that_matched_are_named() {
        let text = "The red doors are open.";
        assert_eq!(matched("door red window red", text), ["door", "red"]);
        assert_eq!(matched("知识库 天气", "这是知识库的说明"), ["知识库"]);
        assert!(matched("", text).is_empty());
    }
}
