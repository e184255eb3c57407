//! Files: the requests to an xbot runner, and the handling of its answers.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{connect, fault, info, result};
use crate::{FileKind, Range, Sandbox, SandboxError, WriteOptions};

async fn contents(sandbox: &Sandbox, path: &str, range: Range) -> Result<Vec<u8>, SandboxError> {
    let mut reader = sandbox.read_file(path.as_bytes(), range).await?;
    let mut content = Vec::new();
    while let Some(piece) = reader.next().await {
        content.extend_from_slice(&piece?);
    }
    Ok(content)
}

async fn put(
    sandbox: &Sandbox,
    path: &str,
    options: WriteOptions,
    content: &[u8],
) -> Result<u64, SandboxError> {
    let mut writer = sandbox.write_file(path.as_bytes(), options).await?;
    writer.write(content).await?;
    writer.finish().await
}

#[tokio::test(start_paused = true)]
async fn files_are_read_whole_or_in_part() {
    let (_router, sandbox, mut runner) = connect().await;
    let content: Vec<u8> = (0..300_000).map(|number: u32| number as u8).collect();
    let data = STANDARD.encode(&content);
    for (offset, length, expected) in [
        (0, None, &content[..]),
        (10, Some(20), &content[10..30]),
        (299_999, Some(u64::MAX), &content[299_999..]),
        (300_001, None, &[]),
    ] {
        let range = Range { offset, length };
        let read = async { contents(&sandbox, "/home/dev/ws/./a.bin", range).await.unwrap() };
        let serve = async {
            let body = runner.serve("stat", "file_info", info(7, 420, false)).await;
            assert_eq!(body, json!({"path": "a.bin"}));
            runner.serve("read_file", "file_content", json!({"data": data})).await;
        };
        let (read, ()) = tokio::join!(read, serve);
        assert!(read == expected, "{offset}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_found_out_before() {
    let (_router, sandbox, mut runner) = connect().await;
    for (answer, body, kind) in [
        ("file_info", info(4096, 2_147_484_141, true), "is_a_directory"),
        ("file_info", info(0, 1 << 25 | 0o644, false), "special_file"),
        ("file_info", info(300 * 1024 * 1024, 420, false), "too_large"),
        ("error", fault("ENOENT", "stat /home/dev/ws/x: no such file or directory"), "not_found"),
        (
            "file_info",
            json!({"name": "x", "size": -1, "mode": 420, "mod_time": "", "is_dir": false}),
            "protocol",
        ),
        ("file_info", json!({"size": 1, "mode": 420, "mod_time": "yesterday", "is_dir": false}), "protocol"),
        ("file_info", Value::Null, "protocol"),
        ("ok", Value::Null, "protocol"),
        ("error", json!("words"), "protocol"),
        ("a_later_kind", json!({}), "protocol"),
    ] {
        let (read, _) =
            tokio::join!(contents(&sandbox, "x", Range::default()), runner.serve("stat", answer, body));
        assert_eq!(read.unwrap_err().kind(), kind, "{answer}");
    }
    let serve = async {
        runner.serve("stat", "file_info", info(1, 420, false)).await;
        runner.serve("read_file", "file_content", json!({"data": "%%%"})).await;
    };
    let (read, ()) = tokio::join!(contents(&sandbox, "x", Range::default()), serve);
    assert_eq!(read.unwrap_err().kind(), "protocol");
    assert_eq!(contents(&sandbox, "../x", Range::default()).await.unwrap_err().kind(), "escapes_workspace");
}

#[tokio::test(start_paused = true)]
async fn files_are_written_with_their_permissions() {
    let (_router, sandbox, mut runner) = connect().await;
    let content = vec![b'x'; 200_001];
    let write = put(&sandbox, "a/b.txt", WriteOptions { parents: true, ..WriteOptions::default() }, &content);
    let serve = async {
        assert_eq!(runner.serve("mkdir_all", "ok", Value::Null).await, json!({"path": "a", "perm": 0o755}));
        let body = runner.serve("write_file", "ok", Value::Null).await;
        assert_eq!((&body["path"], &body["perm"]), (&json!("a/b.txt"), &json!(0o644)));
        assert_eq!(STANDARD.decode(body["data"].as_str().unwrap()).unwrap(), content);
    };
    assert_eq!(tokio::join!(write, serve).0.unwrap(), 200_001);

    // The permissions are set if the file existed with others, or if the umask removed some.
    for (found, sets) in [(0o755, false), (0o644, true)] {
        let write =
            put(&sandbox, "-run", WriteOptions { mode: Some(0o755), ..WriteOptions::default() }, b"x");
        let serve = async {
            assert_eq!(runner.serve("write_file", "ok", Value::Null).await["perm"], 0o755);
            runner.serve("stat", "file_info", info(1, found, false)).await;
            if sets {
                let body = runner.serve("exec", "exec_result", result("", "", 0, false)).await;
                assert_eq!(body["args"], json!(["chmod", "0755", "./-run"]));
            }
        };
        assert_eq!(tokio::join!(write, serve).0.unwrap(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn writes_that_cannot_be_are_refused() {
    let (_router, sandbox, mut runner) = connect().await;
    let of_size = |bytes| WriteOptions { size_bytes: Some(bytes), ..WriteOptions::default() };
    assert_eq!(put(&sandbox, "x", of_size(3), b"four").await.unwrap_err().kind(), "invalid_body");
    assert_eq!(put(&sandbox, "x", of_size(1 << 30), b"").await.unwrap_err().kind(), "too_large");
    assert_eq!(put(&sandbox, "../x", of_size(1), b"1").await.unwrap_err().kind(), "escapes_workspace");
    assert_eq!(put(&sandbox, ".", of_size(1), b"1").await.unwrap_err().kind(), "invalid_path");
    let fault = fault("ENOENT", "open /home/dev/ws/no/c: no such file or directory");
    let write = put(&sandbox, "no/c", WriteOptions::default(), b"x");
    assert_eq!(
        tokio::join!(write, runner.serve("write_file", "error", fault)).0.unwrap_err().kind(),
        "not_found"
    );
}

#[tokio::test(start_paused = true)]
async fn directories_are_listed_in_pieces() {
    let (_router, sandbox, mut runner) = connect().await;
    let entries: Vec<_> = (0..1000)
        .map(|number| json!({"name": format!("f{number}"), "is_dir": number == 7, "size": number}))
        .collect();
    let mut reader = sandbox.read_dir(b".").await.unwrap();
    runner.serve("read_dir", "dir_entries", json!({"entries": entries})).await;
    let mut listed = Vec::new();
    while let Some(batch) = reader.next_batch().await {
        listed.extend(batch.unwrap());
    }
    assert_eq!((listed.len(), &listed[999].name[..], listed[999].size_bytes), (1000, &b"f999"[..], 999));
    assert_eq!((listed[7].kind, listed[8].kind), (FileKind::Directory, FileKind::File));

    for name in ["", "..", "a/b", "a\0b"] {
        let mut reader = sandbox.read_dir(b"sub").await.unwrap();
        let entries = json!({"entries": [{"name": name, "is_dir": false, "size": 0}]});
        assert_eq!(runner.serve("read_dir", "dir_entries", entries).await, json!({"path": "sub"}));
        assert_eq!(reader.next_batch().await.unwrap().unwrap_err().kind(), "protocol");
        assert!(reader.next_batch().await.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn the_rest_of_the_file_requests_are_mapped() {
    let (_router, sandbox, mut runner) = connect().await;
    let (made, body) =
        tokio::join!(sandbox.mkdir_all(b"x/y", 0o700), runner.serve("mkdir_all", "ok", Value::Null));
    assert_eq!((made, body), (Ok(()), json!({"path": "x/y", "perm": 0o700})));
    let (removed, body) = tokio::join!(sandbox.remove(b"x"), runner.serve("remove", "ok", Value::Null));
    assert_eq!((removed, body), (Ok(()), json!({"path": "x"})));
    let (removed, _) = tokio::join!(sandbox.remove_all(b"x"), runner.serve("remove_all", "ok", Value::Null));
    assert_eq!(removed, Ok(()));
    let full = fault("EEXIST", "remove /home/dev/ws/x: directory not empty");
    let (removed, _) = tokio::join!(sandbox.remove(b"x"), runner.serve("remove", "error", full));
    assert_eq!(removed.unwrap_err().kind(), "directory_not_empty");
    for root in [&b"."[..], b"/home/dev/ws"] {
        assert_eq!(sandbox.remove_all(root).await.unwrap_err().kind(), "invalid_path", "the workspace stays");
    }
    let stat = info(4096, 2_147_484_141, true);
    let (found, _) = tokio::join!(sandbox.stat(b"."), runner.serve("stat", "file_info", stat));
    let found = found.unwrap();
    assert_eq!((found.kind, found.mode, found.modified_ms), (FileKind::Directory, 0o755, 1_795_294_168_000));
}

#[tokio::test(start_paused = true)]
async fn a_rename_is_a_move_that_never_moves_into_a_directory() {
    let (_router, sandbox, mut runner) = connect().await;
    let gone = || fault("ENOENT", "stat /home/dev/ws/-b: no such file or directory");
    for (code, stderr, expected) in [
        (0, "", Ok(())),
        (1, "mv: cannot stat './a': No such file or directory\n", Err("not_found")),
        (1, "mv: something else\n", Err("io")),
    ] {
        let serve = async {
            assert_eq!(runner.serve("stat", "error", gone()).await, json!({"path": "-b"}));
            let body = runner.serve("exec", "exec_result", result("", stderr, code, false)).await;
            assert_eq!(body["args"], json!(["mv", "-f", "./a", "./-b"]));
        };
        let (renamed, ()) = tokio::join!(sandbox.rename(b"a", b"-b"), serve);
        assert_eq!(renamed.map_err(|error| error.kind()), expected);
    }
    let directory = info(4096, 2_147_484_141, true);
    let (renamed, _) = tokio::join!(sandbox.rename(b"a", b"d"), runner.serve("stat", "file_info", directory));
    assert_eq!(renamed.unwrap_err().kind(), "already_exists");
}
