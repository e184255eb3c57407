//! The quota of documents, words that an older version of the analysis made, and the time of a document's last change.

use super::*;
use crate::sql::{Scope, query};

async fn older_words(store: Store) {
    let owner = user(&store, "alice").await;
    let (_, document) = filled(&store, owner, "notes", "kettle").await;
    assert_eq!(store.outdated_document(DocumentId(0)).await.unwrap(), None, "it was analysed just now");
    query("UPDATE documents SET analysis = 0").execute(store.database.writer(Scope::System)).await.unwrap();
    let outdated = store.outdated_document(DocumentId(0)).await.unwrap().unwrap();
    assert_eq!((outdated.id, outdated.user_id), (document, owner));
    assert_eq!(store.outdated_document(document).await.unwrap(), None, "no other document is outdated");
    let passages = store.passages_of(&outdated, crate::ChunkId(0), 10).await.unwrap();
    assert_eq!(passages[0].text(), "kettle");
    let (id, words) = (passages[0].id, "manual kettle".to_owned());
    store.replace_words(owner, &[NewWords { id, words, others: "boil".to_owned() }]).await.unwrap();
    for word in ["manual", "kettle", "boil"] {
        assert_eq!(found(&store, owner, word).await, ["kettle"], "{word}");
    }
    assert!(store.passages_of(&outdated, id, 10).await.unwrap().is_empty());
    let replaced = OutdatedDocument { version: outdated.version + 1, ..outdated.clone() };
    store.set_analysed(&replaced).await.unwrap();
    assert!(store.outdated_document(DocumentId(0)).await.unwrap().is_some(), "another version was marked");
    store.set_analysed(&outdated).await.unwrap();
    assert_eq!(store.outdated_document(DocumentId(0)).await.unwrap(), None);
}

#[tokio::test]
async fn words_of_an_older_analysis_are_replaced() {
    older_words(testing::empty().await).await;
}

#[tokio::test]
async fn on_postgres_words_of_an_older_analysis_are_replaced() {
    older_words(testing::empty_on_postgres().await).await;
}

async fn quota(store: Store) {
    let (owner, other) = (user(&store, "alice").await, user(&store, "bob").await);
    let (uploads, _) = filled(&store, owner, "notes", "kettle").await;
    let folder = store.add_collection(owner, "folder", Some(("laptop", "docs"))).await.unwrap();
    let file = |name: &str, size_bytes| FileSeen { name: name.to_owned(), size_bytes, modified_ms: 1 };
    let most = crate::limits::DOCUMENT_BYTES_PER_USER;
    // The second file exceeds the quota together with the first one, which is waiting, but the third one fits.
    let files = [file("large", most - 100), file("too-large", 100), file("small", 10)];
    assert_eq!(store.queue_files(owner, folder, &files).await.unwrap(), 1);
    assert!(store.begin_upload(owner, uploads).await.is_ok());
    let job = store.begin_upload(owner, uploads).await.unwrap();
    store.add_upload_part(job, 0, &[7; 200]).await.unwrap();
    for refused in [
        store.finish_upload(owner, uploads, job, "more", 200).await.map(drop),
        store.begin_upload(owner, uploads).await.map(drop),
    ] {
        assert!(refused.unwrap_err().to_string().contains("at most 4 GiB in total"));
    }
    let theirs = store.add_collection(other, "notes", None).await.unwrap();
    assert!(store.begin_upload(other, theirs).await.is_ok(), "each user has their own quota");
    store.drop_job(job).await.unwrap();
    assert!(store.begin_upload(owner, uploads).await.is_ok());
}

#[tokio::test]
async fn the_documents_of_a_user_have_a_quota() {
    quota(testing::empty().await).await;
}

#[tokio::test]
async fn on_postgres_the_documents_of_a_user_have_a_quota() {
    quota(testing::empty_on_postgres().await).await;
}

async fn same_content(store: Store) {
    let owner = user(&store, "alice").await;
    let (collection, document) = filled(&store, owner, "notes", "kettle").await;
    let earlier = "UPDATE documents SET updated_at_ms = 5";
    query(earlier).execute(store.database.writer(Scope::System)).await.unwrap();
    let updated_at_ms = async || store.document(owner, document).await.unwrap().updated_at_ms;
    upload(&store, owner, collection, "a.txt", "kettle").await;
    let job = next(&store).await.unwrap();
    assert_eq!(updated_at_ms().await, 5, "it only waits");
    store.keep_version(&job, 6, 0).await.unwrap();
    assert_eq!(updated_at_ms().await, 5, "its content is the same");
    upload(&store, owner, collection, "a.txt", "teapot").await;
    let job = index(&store).await;
    assert!(store.publish(&job, &published("h2")).await.unwrap());
    assert!(updated_at_ms().await > 5);
}

#[tokio::test]
async fn a_document_that_is_added_again_with_the_same_content_is_not_changed() {
    same_content(testing::empty().await).await;
}

#[tokio::test]
async fn on_postgres_a_document_that_is_added_again_with_the_same_content_is_not_changed() {
    same_content(testing::empty_on_postgres().await).await;
}
