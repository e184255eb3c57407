//! HTTP tools under attack: arguments, documents and services that try to send, reach or get more than is allowed.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tests::{Page, Pages};

use crate::http_tools::{OPEN, SECRET, Tools, document, echo, forms};
use crate::mcp_servers::calls;
use crate::world::World;

/// Values that try to break out of their place in a request.
const VALUES: [&str; 24] = [
    "x\r\nX-Admin: 1",
    "x\nX-Admin: 1",
    "x\r\n\r\nGET /admin HTTP/1.1\r\nHost: a\r\n\r\n",
    "..",
    "../../admin",
    "..%2f..%2fadmin",
    "%2e%2e/admin",
    "..\\..\\admin",
    "/admin",
    "//169.254.169.254/",
    "@169.254.169.254",
    "http://169.254.169.254/latest/",
    "?admin=true",
    "x?admin=true#",
    "x&admin=true",
    "x;admin=true",
    "x=1&admin=true",
    "\", \"admin\": true, \"x\": \"",
    "\\\", \\\"admin\\\": true, \\\"x\\\": \\\"",
    "\"}, {\"admin\": true",
    "{{secret.KEY}}",
    "{{a}}",
    "\u{0}\u{1}",
    "\u{202e}\u{2028}x",
];

#[test]
fn no_value_breaks_out_of_its_place_in_a_request() {
    let service = echo();
    let world = World::with(calls(Vec::new()), OPEN);
    let tools = Tools::of(&world);
    let url = format!("http://127.0.0.1:{}/v1", service.port());
    let text = json!({"a": {"type": "string", "required": true}});
    let post = |more: Value| {
        let mut fields = json!({"method": "POST", "parameters": text});
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        fields
    };
    let positions = [
        document("path", &format!("{url}/{{{{a}}}}/end?fixed=1"), json!({"parameters": text})),
        document(
            "query",
            &format!("{url}/x?q={{{{a}}}}"),
            json!({"parameters": text, "queryParams": {"p": "{{a}}", "z": "1"}}),
        ),
        document("header", &url, json!({"parameters": text, "headers": {"X-A": "v {{a}}"}})),
        document(
            "json",
            &url,
            post(json!({"bodyTemplate": "{\"a\": \"{{a}}\", \"b\": \"<{{a}}>\", \"c\": 1}"})),
        ),
        document(
            "form",
            &url,
            post(
                json!({"bodyTemplate": "a={{a}}&c=1", "headers": {"Content-Type": "application/x-www-form-urlencoded"}}),
            ),
        ),
        document(
            "text",
            &url,
            post(json!({"bodyTemplate": "say {{a}}!", "headers": {"Content-Type": "text/plain"}})),
        ),
    ];
    for document in &positions {
        tools.put(document).unwrap();
    }
    let (mut tried, mut through) = (0, Vec::new());
    let mut sent_by: BTreeMap<&str, usize> = BTreeMap::new();
    for document in &positions {
        let name = document["name"].as_str().unwrap();
        for value in VALUES {
            tried += 1;
            let before = service.asked().len();
            let (sent, told) = tools.call(name, json!({"a": value}));
            let asked = service.asked()[before..].to_vec();
            match asked.as_slice() {
                [] if !sent => {}
                [request] if is_plain(name, value, request) => *sent_by.entry(name).or_insert(0) += 1,
                _ => through.push(format!("{name} {value:?}: {told} {asked:?}")),
            }
        }
    }
    assert_eq!(through, Vec::<String>::new(), "of {tried}");
    let whole = VALUES.len();
    let expected =
        [("form", whole), ("header", 20), ("json", whole), ("path", 15), ("query", whole), ("text", whole)];
    assert_eq!(sent_by, expected.into(), "every value that can be sent was sent");
}

/// True if a service that got this request finds the value in its place, and nothing else that was not in the document.
fn is_plain(name: &str, value: &str, request: &str) -> bool {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let (line, headers) = head.split_once("\r\n").unwrap();
    let [method, target, "HTTP/1.1"] = line.split(' ').collect::<Vec<_>>()[..] else { return false };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let allowed =
        ["host", "accept", "accept-encoding", "user-agent", "content-type", "content-length", "x-a"];
    let known =
        headers.lines().all(|line| line.split_once(": ").is_some_and(|(name, _)| allowed.contains(&name)));
    let decoded = |text: &str| {
        let mut bytes = Vec::new();
        let mut rest = text.bytes();
        while let Some(byte) = rest.next() {
            if byte == b'%' {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
            } else {
                bytes.push(byte);
            }
        }
        String::from_utf8(bytes).unwrap()
    };
    let pairs = |text: &str| -> Vec<(String, String)> {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        pairs
            .map(|pair| pair.split_once('=').unwrap())
            .map(|(name, value)| (decoded(name), decoded(value)))
            .collect()
    };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let in_its_place = match name {
        "path" => {
            let segments: Vec<&str> = path.split('/').collect();
            let [_, "v1", segment, "end"] = segments[..] else { return false };
            // A service that decodes the path first must not find a `..` in it.
            let has_no_way_up = !decoded(segment).split(['/', '\\']).any(|part| part == "..");
            return method == "GET"
                && known
                && has_no_way_up
                && decoded(segment) == value
                && query == "fixed=1"
                && body.is_empty();
        }
        "query" => path == "/v1/x" && pairs(query) == [pair("q", value), pair("p", value), pair("z", "1")],
        "header" => headers.lines().filter(|line| *line == format!("x-a: v {value}")).count() == 1,
        "json" => {
            let found: Result<Map<String, Value>, _> = serde_json::from_str(body);
            let sent = json!({"a": value, "b": format!("<{value}>"), "c": 1});
            found.is_ok_and(|found| Value::Object(found) == sent)
        }
        "form" => pairs(body) == [pair("a", value), pair("c", "1")],
        "text" => body == format!("say {value}!"),
        _ => false,
    };
    known && in_its_place
}

#[test]
fn no_document_or_redirect_reaches_a_forbidden_address() {
    let (service, other) = (Pages::start(moving), echo());
    let world = World::with(calls(Vec::new()), OPEN);
    let tools = Tools::of(&world);
    let port = service.port();
    let any = json!({"parameters": {"a": "string"}});
    for url in [
        "http://{{a}}/",
        "http://{{a}}:80/",
        "http://127.0.0.1{{a}}/",
        "http://127.0.0.1:{{a}}/",
        "{{a}}://127.0.0.1/",
        "{{a}}",
        "http://{{a}}@127.0.0.1/",
        "http://user:word@127.0.0.1/",
        "http://127.0.0.1\\@169.254.169.254/",
        "http://169.254.169.254/latest/meta-data",
        "http://2852039166/",
        "http://0xa9fea9fe/",
        "http://0251.0376.0251.0376/",
        "http://169.254.43518/",
        "http://[::ffff:169.254.169.254]/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://[::1]/",
        "http://[64:ff9b::169.254.169.254]/",
        "http://10.0.0.1/",
        "http://localhost/",
        "http://metadata.google.internal/",
        "http://127.1.1.1/",
        "http://0.0.0.0/",
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
        "http://127.0.0.1/\r\nX-Admin: 1",
        "http://127.0.0.1/../admin",
        "http://127.0.0.1/%2e%2e/admin",
        "http://127.0.0.1/{{secret.KEY}}",
    ] {
        let refused = tools.put(&document("bad", url, any.clone()));
        assert!(refused.is_err(), "{url}");
    }
    for more in [
        json!({"headers": {"Host": "169.254.169.254"}}),
        json!({"headers": {"Transfer-Encoding": "chunked"}}),
        json!({"headers": {"Content-Length": "5"}}),
        json!({"headers": {"X": "a\r\nY: b"}}),
        json!({"headers": {"X\r\nY": "a"}}),
        json!({"headers": {"Accept-Encoding": "gzip"}}),
        json!({"method": "GET / HTTP/1.1\r\nX: y"}),
        json!({"method": "CONNECT"}),
        json!({"proxy": "http://169.254.169.254"}),
    ] {
        assert!(tools.put(&document("bad", "http://127.0.0.1/", more.clone())).is_err(), "{more}");
    }
    assert_eq!(tools.list()["tools"], json!([]));

    // Responses of a service: redirects elsewhere, endless responses, and compressed ones.
    let elsewhere = format!("http://127.0.0.1:{}/stolen", other.port());
    for (name, path, words) in [
        ("inside", "/to/http://169.254.169.254/latest".to_owned(), "own network"),
        ("decimal", "/to/http://2852039166/latest".to_owned(), "own network"),
        ("mapped", "/to/http://[::ffff:169.254.169.254]/latest".to_owned(), "own network"),
        ("named", "/to/http://localhost/latest".to_owned(), "own network"),
        ("other", format!("/to/{elsewhere}"), "another host"),
        ("kept", format!("/kept/{elsewhere}"), "another host"),
        ("user", format!("/to/http://user:word@127.0.0.1:{port}/end"), "user name"),
        ("file", "/to/file:///etc/passwd".to_owned(), "http"),
        ("round", "/round".to_owned(), "redirects more than"),
        ("packed", "/packed".to_owned(), "compressed"),
    ] {
        let more = json!({"method": "POST", "headers": {"X-Key": "{{secret.KEY}}"}, "bodyTemplate": "{\"k\": \"{{secret.KEY}}\"}"});
        tools
            .put(&document(
                name,
                &format!("http://127.0.0.1:{port}{}", path.replace('[', "%5B").replace(']', "%5D")),
                more,
            ))
            .unwrap();
        assert_eq!(tools.set(name, "KEY", SECRET), 204);
        let (sent, told) = tools.call(name, json!({}));
        assert!(!sent && told.contains(words), "{name}: {told}");
        assert!(forms().iter().all(|form| !told.contains(form)), "{name}: {told}");
    }
    assert_eq!(other.asked(), Vec::<String>::new(), "nothing was sent to another origin");
    // A redirect within the service's own origin is followed, with the secret.
    let more = json!({"headers": {"X-Key": "{{secret.KEY}}"}, "timeout": 20_000});
    tools.put(&document("home", &format!("http://127.0.0.1:{port}/to/%2Fend"), more)).unwrap();
    assert_eq!(tools.set("home", "KEY", SECRET), 204);
    let (sent, told) = tools.call("home", json!({}));
    assert!(sent && told.contains("[secret KEY]"), "{told}");
    tools.put(&document("endless", &format!("http://127.0.0.1:{port}/endless"), json!({}))).unwrap();
    let (sent, told) = tools.call("endless", json!({}));
    assert!(sent && told.contains("left out") && told.len() < 200 * 1024, "{} bytes", told.len());
    tools
        .put(&document("slow", &format!("http://127.0.0.1:{port}/to/%2Fslow"), json!({"timeout": 500})))
        .unwrap();
    let (sent, told) = tools.call("slow", json!({}));
    assert!(!sent && told.contains("within 500 ms"), "{told}");
}

/// Redirects to the target in the path.
fn moving(path: &str) -> Page {
    let plain = |to: &str| to.replace("%2F", "/").replace("%5B", "[").replace("%5D", "]");
    match path {
        "/end" => Page::Echo,
        "/round" => Page::MovedBy(307, "/round".to_owned()),
        "/endless" => Page::Endless,
        // A kilobyte of compressed data could unpack to a megabyte of blanks.
        "/packed" => Page::Packed("gzip", vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]),
        "/slow" => {
            std::thread::park();
            Page::Status(204)
        }
        path => match (path.strip_prefix("/to/"), path.strip_prefix("/kept/")) {
            (Some(to), _) => Page::Moved(plain(to)),
            (None, Some(to)) => Page::MovedBy(308, plain(to)),
            (None, None) => Page::Status(404),
        },
    }
}
