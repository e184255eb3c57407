//! Buckets that are missing, refuse requests, become unavailable or are slow, and objects that are damaged.

use std::time::Duration;

use s3server::{OWNER, READER, S3Server};
use store::limits::BLOB_MIN_BYTES;
use store::{Before, Error, Store, patiently};
use tokio::time::timeout;

use super::{PATIENCE, World, ask, bucket, file, keys, plugin, text, with_bucket, world};
use crate::support::postgres_url;

#[tokio::test]
async fn a_bucket_that_cannot_be_used_is_said_in_one_line() {
    let (mut server, url) = (S3Server::start(&["data"]), postgres_url());
    let usable = bucket(&server, "s3://data", OWNER);
    let wrong = [
        (bucket(&server, "s3://absent", OWNER), "there is no bucket \"absent\""),
        (bucket(&server, "s3://data", ("nobody", "no-secret")), "AWS_ACCESS_KEY_ID"),
        (bucket(&server, "s3://data", (OWNER.0, "no-secret")), "AWS_SECRET_ACCESS_KEY"),
        (bucket(&server, "s3://data", READER), "refuses to put"),
    ];
    for (bucket, words) in wrong {
        let error = Store::connect(&url).await.unwrap().with_blobs(&bucket).await.unwrap_err();
        let shown = error.to_string();
        assert!(matches!(error, Error::Blobs { .. }) && !error.is_away(), "{shown}");
        assert!(shown.contains(words) && !shown.contains('\n') && !shown.contains("no-secret"), "{shown}");
    }
    server.stop();
    let error = Store::connect(&url).await.unwrap().with_blobs(&usable).await.unwrap_err();
    assert!(error.is_away() && error.to_string().contains("AWS_ENDPOINT_URL_S3"), "{error}");
    server.start_again();
    Store::connect(&url).await.unwrap().with_blobs(&usable).await.unwrap();
    assert_eq!(keys(&server), [""; 0], "a check leaves nothing");
    assert_eq!(server.keys("data").len(), 1, "the marker");
}

#[tokio::test]
async fn another_bucket_than_that_of_the_objects_is_refused() {
    let World { server, url, store, ann, chat, .. } = world().await;
    let elsewhere = bucket(&server, "s3://data/elsewhere", OWNER);
    Store::connect(&url).await.unwrap().with_blobs(&elsewhere).await.unwrap();
    server.lose("data", &server.keys("data").into_iter().find(|key| key.starts_with("elsewhere/")).unwrap());
    store.put_offload(ann, &chat, "whole", &text("whole", BLOB_MIN_BYTES + 1), None).await.unwrap();
    let error = Store::connect(&url).await.unwrap().with_blobs(&elsewhere).await.unwrap_err();
    assert!(matches!(error, Error::OtherBucket { .. }) && error.to_string().contains("elsewhere"), "{error}");
    with_bucket(&server, &url).await;
}

#[tokio::test]
async fn an_object_that_is_missing_or_altered_is_said_and_never_shown() {
    let World { server, store, ann, chat, .. } = world().await;
    let whole = text("whole", BLOB_MIN_BYTES + 9);
    store.put_offload(ann, &chat, "whole", &whole, None).await.unwrap();
    let key = keys(&server).remove(0);
    let mut other = whole.clone().into_bytes();
    other[BLOB_MIN_BYTES] ^= 1;
    let longer = [whole.as_bytes(), b"more"].concat();
    for (damaged, words) in [
        (Some(&other[..]), "differs from what was written"),
        (Some(&other[..9]), "has 9 bytes"),
        (Some(&[][..]), "has 0 bytes"),
        (Some(&longer[..]), "bytes instead of"),
        (None, "there is no object"),
    ] {
        match damaged {
            Some(damaged) => server.replace("data", &key, damaged),
            None => server.lose("data", &key),
        }
        let error = store.offload(ann, &chat, "whole").await.unwrap_err();
        assert!(matches!(&error, Error::BlobLost { why, .. } if why.contains(words)), "{error}");
        assert_eq!((error.kind(), error.is_away()), ("internal", false));
        assert!(error.shown().contains("administrator"), "{}", error.shown());
    }
    // Writing the same value again repairs the object.
    store.put_offload(ann, &chat, "again", &whole, None).await.unwrap();
    assert_eq!(store.offload(ann, &chat, "whole").await.unwrap().unwrap().text, whole);
}

#[tokio::test]
async fn an_outage_of_the_bucket_leaves_nothing_half_done_and_ends_by_itself() {
    let mut world = world().await;
    let turn = world.turn().await;
    let (store, ann, chat) = (world.store.clone(), world.ann, world.chat.clone());
    let whole = text("whole", BLOB_MIN_BYTES + 1);
    store.put_offload(ann, &chat, "whole", &whole, None).await.unwrap();
    let other = with_bucket(&world.server, &world.url).await;
    world.server.stop();
    let lint = [file("a", whole.clone().into_bytes())];
    let before = Before::Content { mode: 0o644, content: whole.as_bytes() };
    for error in [
        store.offload(ann, &chat, "whole").await.unwrap_err(),
        store.put_offload(ann, &chat, "new", &whole, None).await.unwrap_err(),
        store.keep_checkpoint(ann, &chat, turn, "laptop", "a", before).await.unwrap_err(),
        store.put_plugin(ann, &plugin("lint"), &lint).await.unwrap_err(),
    ] {
        assert!(error.is_away() && error.is_passing() && error.kind() == "unavailable", "{error}");
        assert!(error.shown().contains("object store is unavailable; try again"), "{}", error.shown());
    }
    for rows in ["offloads", "checkpoints", "checkpoint_contents", "plugins", "plugin_files"] {
        let kept = usize::from(rows == "offloads").to_string();
        assert_eq!(ask(&world.url, &format!("SELECT COUNT(*) FROM {rows}")), kept, "{rows}");
    }
    // Requests without long values still work.
    store.put_offload(ann, &chat, "short", "short", None).await.unwrap();
    // Work in a patient task waits for the bucket.
    let waiting = {
        let (store, chat, whole) = (store.clone(), chat.clone(), whole.clone());
        tokio::spawn(patiently(async move {
            store.put_offload(ann, &chat, "late", &whole, None).await.unwrap();
            store.offload(ann, &chat, "late").await.unwrap().unwrap().text
        }))
    };
    // So does work that fails when its store is closed.
    let stopped = tokio::spawn({
        let (store, chat, whole) = (other.clone(), chat.clone(), whole.clone());
        patiently(async move { store.put_offload(ann, &chat, "stopped", &whole, None).await })
    });
    other.close().await;
    let stopped = timeout(PATIENCE, stopped).await.expect("closing the store ends the wait").unwrap();
    assert!(stopped.is_err(), "{stopped:?}");
    assert!(!waiting.is_finished());
    world.server.start_again();
    assert!(timeout(PATIENCE, waiting).await.expect("the wait ends").unwrap() == whole);
    store.put_plugin(ann, &plugin("lint"), &lint).await.unwrap();
    assert!(store.plugin_files(ann, "lint", "h1").await.unwrap() == lint);
}

#[tokio::test]
async fn a_bucket_that_does_not_answer_has_a_deadline() {
    let World { server, url, ann, chat, .. } = world().await;
    let hasty = bucket(&server, "s3://data/long", OWNER).with_patience(Duration::from_millis(500));
    // On a busy machine the first attempts may miss such a short deadline.
    let connected = async {
        loop {
            match Store::connect(&url).await.unwrap().with_blobs(&hasty).await {
                Err(error) if error.is_away() => {}
                connected => return connected.unwrap(),
            }
        }
    };
    let store = timeout(PATIENCE, connected).await.expect("the bucket answers in time");
    server.freeze();
    let whole = text("whole", BLOB_MIN_BYTES + 1);
    let error = store.put_offload(ann, &chat, "whole", &whole, None).await.unwrap_err();
    assert!(error.is_away() && error.to_string().contains("did not answer within"), "{error}");
    // Other changes do not wait for the slow bucket.
    store.put_offload(ann, &chat, "short", "short", None).await.unwrap();
    server.thaw();
    let patient = with_bucket(&server, &url).await;
    patient.put_offload(ann, &chat, "whole", &whole, None).await.unwrap();
}
