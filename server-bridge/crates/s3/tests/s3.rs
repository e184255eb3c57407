//! Tests against a real server: objects, error texts and outages.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use s3::limits::LIST_ROWS;
use s3::{Bucket, Error, Place};
use s3server::{OWNER, READER, S3Server};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

fn bucket(server: &S3Server, text: &str, credentials: (&str, &str)) -> Bucket {
    // Another test may have installed it first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let variables = server.variables(credentials);
    let variable =
        |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone());
    Bucket::new(Place::parse(text, variable).unwrap()).unwrap()
}

/// Bytes that differ from place to place.
fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

#[tokio::test]
async fn objects_are_put_got_listed_and_deleted_and_what_is_wrong_is_said() {
    let mut server = S3Server::start(&["data"]);
    let data = bucket(&server, "s3://data/some/where", OWNER);
    data.check().await.unwrap();
    assert_eq!(server.keys("data"), [""; 0], "a check leaves nothing");
    for length in [0, 1, 5 * 1024 * 1024 + 1] {
        let name = format!("of-{length}");
        data.put(&name, &bytes(length)).await.unwrap();
        data.put(&name, &bytes(length)).await.unwrap();
        assert!(data.get(&name, length).await.unwrap() == bytes(length), "{length}");
        for wrong in [length + 1, length.saturating_sub(1)] {
            let got = data.get(&name, wrong).await;
            assert!(wrong == length || matches!(got, Err(Error::Length { .. })), "{length} {wrong}");
        }
    }
    assert!(matches!(data.get("none", 1).await, Err(Error::Missing { .. })));
    let names = |listed: (Vec<s3::Listed>, bool)| {
        let names: Vec<_> = listed.0.into_iter().map(|object| object.name).collect();
        (names, listed.1)
    };
    let all = names(data.list("").await.unwrap());
    assert_eq!(all, (["of-0", "of-1", "of-5242881"].map(str::to_owned).to_vec(), false));
    assert_eq!(names(data.list("of-0").await.unwrap()).0, ["of-1", "of-5242881"]);
    assert!(data.list("").await.unwrap().0[0].modified_ms > 1_700_000_000_000);
    // Another prefix of the bucket shows none of these objects.
    assert_eq!(names(bucket(&server, "s3://data/some/wher", OWNER).list("").await.unwrap()).0, [""; 0]);
    data.delete("of-1").await.unwrap();
    data.delete("of-1").await.unwrap();
    assert_eq!(names(data.list("").await.unwrap()).0, ["of-0", "of-5242881"]);

    for (text, credentials, is_expected) in [
        ("s3://absent", OWNER, (|error| matches!(error, Error::NoBucket { .. })) as fn(&Error) -> bool),
        ("s3://data", (OWNER.0, "another-secret"), |error| {
            matches!(error, Error::Forbidden { action: "list", .. })
        }),
        ("s3://data", ("another-id", OWNER.1), |error| matches!(error, Error::Forbidden { .. })),
        ("s3://data", READER, |error| matches!(error, Error::Forbidden { action: "put", .. })),
    ] {
        let error = bucket(&server, text, credentials).check().await.unwrap_err();
        let shown = error.to_string();
        assert!(is_expected(&error) && !error.is_passing(), "{error:?}");
        assert!(
            !shown.contains('\n') && !shown.contains("secret-") && !shown.contains("another-secret"),
            "{shown}"
        );
    }

    server.stop();
    let error = data.get("of-0", 0).await.unwrap_err();
    assert!(matches!(error, Error::Away { .. }) && error.is_passing(), "{error}");
    server.start_again();
    assert!(data.get("of-0", 0).await.unwrap().is_empty(), "it is back by itself");
    server.freeze();
    let hasty = data.clone().with_patience(Duration::from_millis(300));
    for error in [hasty.get("of-0", 0).await.unwrap_err(), hasty.put("new", b"new").await.unwrap_err()] {
        assert!(matches!(error, Error::Slow { .. }) && error.is_passing(), "{error}");
    }
    server.thaw();
    assert!(data.get("of-0", 0).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_long_list_comes_in_pages() {
    let server = S3Server::start(&["data"]);
    let data = bucket(&server, "s3://data/many", OWNER);
    let count = LIST_ROWS + 1;
    let mut names: Vec<_> = (0..count).map(|at| format!("{at:04}")).collect();
    for chunk in names.chunks(50) {
        let puts = chunk.iter().map(|name| {
            let (data, name) = (data.clone(), name.clone());
            tokio::spawn(async move { data.put(&name, b"x").await.unwrap() })
        });
        for put in puts.collect::<Vec<_>>() {
            put.await.unwrap();
        }
    }
    let (first, is_cut) = data.list("").await.unwrap();
    assert!((first.len(), is_cut) == (LIST_ROWS, true), "{}", first.len());
    let (rest, is_cut) = data.list(&first[LIST_ROWS - 1].name).await.unwrap();
    assert_eq!((rest.len(), is_cut), (1, false));
    let mut found: Vec<_> = first.into_iter().chain(rest).map(|object| object.name).collect();
    found.sort();
    names.sort();
    assert_eq!(found, names);
}

/// A fake server: it writes this text in response to each request, and closes the connection.
async fn impostor(answer: &'static str) -> Bucket {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut request = [0; 4096];
                let _ = stream.read(&mut request).await;
                let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, answer.as_bytes()).await;
            });
        }
    });
    let variable = move |name: &str| match name {
        "AWS_ENDPOINT_URL" => Some(format!("http://{address}")),
        "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" => Some("x".to_owned()),
        _ => None,
    };
    Bucket::new(Place::parse("s3://data", variable).unwrap()).unwrap()
}

#[tokio::test]
async fn answers_that_are_none_of_s3s_are_refused() {
    const LIST: &str = "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>";
    const KEY: &str = "<ListBucketResult><Contents><Key>a</Key><LastModified>2026-01-01T00:00:00Z</LastModified></Contents></ListBucketResult>";
    let whole = |body: &str| -> &'static str {
        format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len()).leak()
    };
    for body in ["", "<html>hello</html>", LIST] {
        let error = impostor(whole(body)).await.list("").await.unwrap_err();
        assert!(matches!(error, Error::Answer { .. }), "{body}: {error}");
    }
    // A page that does not start after the given name would be listed forever.
    let error = impostor(whole(KEY)).await.list("b").await.unwrap_err();
    assert!(matches!(error, Error::Answer { .. }), "{error}");
    for (answer, is_expected) in [
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\nconnection: close\r\n\r\nhalf",
            (|error| matches!(error, Error::Away { .. })) as fn(&Error) -> bool,
        ),
        ("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhalf", |error| {
            matches!(error, Error::Length { found: 4, .. })
        }),
        ("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nmore than nine", |error| {
            matches!(error, Error::Length { found: 10, .. })
        }),
        ("HTTP/1.1 503 Slow\r\ncontent-length: 0\r\nconnection: close\r\n\r\n", |error| {
            matches!(error, Error::Away { .. })
        }),
        (
            "HTTP/1.1 301 Moved\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            |error| matches!(error, Error::Refused { .. }),
        ),
        ("", |error| matches!(error, Error::Away { .. })),
    ] {
        let error = impostor(answer).await.get("a", 9).await.unwrap_err();
        assert!(is_expected(&error), "{answer}: {error:?}");
    }
}
