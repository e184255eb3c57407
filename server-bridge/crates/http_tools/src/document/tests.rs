use proptest::prelude::*;
use serde_json::json;

use super::*;

fn tool(document: Value) -> HttpTool {
    HttpTool::parse(&document).unwrap()
}

fn with(fields: Value) -> Value {
    let mut document = json!({"name": "t", "description": "d", "url": "https://api.example.com/x",
        "parameters": {"a": "string", "b": "string", "n": {"type": "integer"}, "o": {"type": "object"}, "l": {"type": "array"}}});
    for (name, value) in fields.as_object().unwrap() {
        document[name] = value.clone();
    }
    document
}

fn render(fields: Value, arguments: Value) -> Result<Request> {
    let secrets = BTreeMap::from([("KEY".to_owned(), "s3cret&\"key".to_owned())]);
    HttpTool::parse(&with(fields))?.render(arguments.as_object().unwrap(), &secrets)
}

#[test]
fn the_seeds_tool_is_taken_as_it_is() {
    let tool = tool(json!({
        "name": "weather",
        "description": "The weather of a city",
        "method": "POST",
        "url": "https://api.example.com/v1/{{city}}/forecast?units=metric&lang={{lang}}",
        "headers": {"Authorization": "Bearer {{secret.API_KEY}}", "X-Days": "{{days}}"},
        "queryParams": {"q": "{{city}}", "limit": 5},
        "bodyTemplate": "{\"city\": \"{{city}}\", \"days\": {{days}}, \"note\": \"for {{city}}\", \"tags\": \"{{tags}}\", \"extra\": \"{{extra}}\"}",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"}, "days": {"type": "integer", "default": 3}, "lang": {"type": "string"},
                "tags": {"type": "array"}, "extra": {"type": "object"},
            },
            "required": ["city"],
        },
        "responseExtract": "data.items.0.name",
        "timeout": 5000,
    }));
    assert_eq!(tool.wire_name(), "http__weather");
    assert_eq!(
        (tool.origin(), tool.host(), tool.timeout_ms()),
        ("https://api.example.com", "api.example.com", 5000)
    );
    assert_eq!(tool.secrets().iter().collect::<Vec<_>>(), ["API_KEY"]);
    let arguments = json!({"city": "São Paulo/\"x\"", "tags": ["a", 1]});
    let secrets = BTreeMap::from([("API_KEY".to_owned(), "abc".to_owned())]);
    let request = tool.render(arguments.as_object().unwrap(), &secrets).unwrap();
    let city = "S%C3%A3o%20Paulo%2F%22x%22";
    let (url, query) = request.url.split_once('?').unwrap();
    assert_eq!(url, format!("https://api.example.com/v1/{city}/forecast"));
    let mut pairs: Vec<&str> = query.split('&').collect();
    pairs.sort_unstable();
    assert_eq!(pairs, ["limit=5", &format!("q={city}"), "units=metric"]);
    let body: Value = serde_json::from_str(&request.body.unwrap()).unwrap();
    assert_eq!(
        body,
        json!({"city": "São Paulo/\"x\"", "days": 3, "note": "for São Paulo/\"x\"", "tags": ["a", 1]})
    );
    let mut headers = request.headers;
    headers.sort();
    let of = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        headers,
        [of("Authorization", "Bearer abc"), of("Content-Type", "application/json"), of("X-Days", "3")]
    );
    let shown = tool.render_shown(arguments.as_object().unwrap()).unwrap();
    assert!(shown.headers.contains(&of("Authorization", "Bearer SECRET.API_KEY")));
}

#[test]
fn parameters_are_a_schema_a_list_or_a_map() {
    let required = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    for parameters in [
        required.clone(),
        json!([{"name": "a", "type": "string", "required": true}]),
        json!({"a": {"type": "string", "required": true}}),
    ] {
        assert_eq!(tool(with(json!({"parameters": parameters}))).schema(), &required, "{parameters}");
    }
    let named = tool(with(json!({"parameters": {"type": {"type": "string"}, "properties": "which ones"}})));
    assert_eq!(named.parameter_names().collect::<Vec<_>>(), ["properties", "type"]);
    for (parameters, words) in [
        (json!("a"), "JSON schema"),
        (json!([{"type": "string"}]), "name"),
        (json!([{"name": "a"}, {"name": "a"}]), "twice"),
        (json!({"a b": {}}), "not a valid name"),
        (json!({"secret.a": {}}), "not a valid name"),
        (json!({"a": 1}), "neither"),
        (json!({"type": "object", "required": ["x"]}), "\"x\""),
        (json!({"type": "object", "properties": {"a": {"$ref": "http://x/y"}}}), "another document"),
    ] {
        let problem = HttpTool::parse(&with(json!({"parameters": parameters}))).unwrap_err().to_string();
        assert!(problem.contains(words), "{words}: {problem}");
    }
}

#[test]
fn a_document_that_is_wrong_is_refused_with_its_field() {
    for (fields, words) in [
        (json!({"body": "x"}), "\"body\""),
        (json!({"name": "a b"}), "`name`"),
        (json!({"name": "x".repeat(NAME_CHARS + 1)}), "`name`"),
        (json!({"description": " "}), "`description`"),
        (json!({"method": "TRACE"}), "`method`"),
        (json!({"method": "GET\r\nX: y"}), "`method`"),
        (json!({"timeout": 5}), "milliseconds"),
        (json!({"timeout": MAX_TIMEOUT_MS + 1}), "milliseconds"),
        (json!({"url": "ftp://a.example"}), "`url`"),
        (json!({"url": "{{a}}"}), "`url`"),
        (json!({"url": "{{a}}://a.example/"}), "`url`"),
        (json!({"url": "https://{{a}}/x"}), "host"),
        (json!({"url": "https://{{a}}.example.com/x"}), "host"),
        (json!({"url": "https://api.example.com{{a}}/x"}), "host"),
        (json!({"url": "https://api.example.com:{{n}}/x"}), "port"),
        (json!({"url": "https://{{a}}@api.example.com/x"}), "user name"),
        (json!({"url": "https://user:word@api.example.com/x"}), "user name"),
        (json!({"url": "https://api.example.com\\@evil.example/"}), "path"),
        (json!({"url": "https://api.example.com/a b"}), "percent-encoded"),
        (json!({"url": "https://api.example.com/a\r\nHost: x"}), "percent-encoded"),
        (json!({"url": "https://api.example.com/../x"}), "`..`"),
        (json!({"url": "https://api.example.com/%2e%2E/x"}), "`..`"),
        (json!({"url": "https://api.example.com/%zz"}), "percent-encoded"),
        (json!({"url": "https://api.example.com/x#{{a}}"}), "fragment"),
        (json!({"url": "https://api.example.com/{{secret.KEY}}"}), "secret"),
        (json!({"url": "https://api.example.com/{{nothing}}"}), "nothing"),
        (json!({"url": "https://api.example.com/{{a"}), "}}"),
        (json!({"url": "https://api.example.com/?{{a}}=1"}), "value"),
        (json!({"headers": {"X": "{{nothing}}"}}), "nothing"),
        (json!({"headers": {"X y": "1"}}), "header"),
        (json!({"headers": {"X": "a\r\nY: b"}}), "line break"),
        (json!({"headers": {"X": ["a"]}}), "string"),
        (json!({"headers": {"X": "1", "x": "2"}}), "twice"),
        (json!({"headers": {"Accept-Encoding": "gzip"}}), "Accept-Encoding"),
        (json!({"headers": {"Content-Type": "{{a}}"}}), "placeholder"),
        (json!({"headers": {"X": "{{secret.a-b}}"}}), "secret"),
        (json!({"queryParams": {"{{a}}": "1"}}), "literal"),
        (json!({"queryParams": {"a": {"b": 1}}}), "string"),
        (json!({"bodyTemplate": "{}"}), "GET"),
        (json!({"method": "POST", "bodyTemplate": "{\"{{a}}\": 1}"}), "name of a field"),
        (json!({"method": "POST", "bodyTemplate": "hello {{a}}"}), "Content-Type"),
        (json!({"method": "POST", "bodyTemplate": 5}), "string"),
        (
            json!({"method": "POST", "bodyTemplate": "x", "headers": {"content-type": "multipart/form-data"}}),
            "multipart",
        ),
        (json!({"responseExtract": "$["}), "`responseExtract`"),
    ] {
        let problem = HttpTool::parse(&with(fields.clone())).unwrap_err().to_string();
        assert!(problem.contains(words), "{fields}: {problem}");
    }
    assert!(HttpTool::parse(&json!([])).is_err());
}

#[test]
fn each_value_stays_in_its_place() {
    let path = |value: &str| render(json!({"url": "https://api.example.com/x/{{a}}/y"}), json!({"a": value}));
    for value in
        ["..", ".", "../admin", "a/../b", "..\\b", "%2e%2e", "%2e%2e%2fadmin", "a\r\nb", "a\u{0}", ""]
    {
        assert!(path(value).is_err(), "{value:?}");
    }
    for (value, segment) in [
        ("a/b", "a%2Fb"),
        ("?x=1#y", "%3Fx%3D1%23y"),
        ("@evil.example", "%40evil.example"),
        ("a;b", "a%3Bb"),
        ("{{secret.KEY}}", "%7B%7Bsecret.KEY%7D%7D"),
        ("...", "..."),
    ] {
        assert_eq!(path(value).unwrap().url, format!("https://api.example.com/x/{segment}/y"));
    }
    let query = |value: Value| {
        render(
            json!({"queryParams": {"q": "{{a}}"}, "parameters": {"a": {"type": ["string", "array"]}}}),
            json!({"a": value}),
        )
    };
    assert_eq!(
        query(json!("1&admin=true#+ \r\n")).unwrap().url,
        "https://api.example.com/x?q=1%26admin%3Dtrue%23%2B%20%0D%0A"
    );
    assert_eq!(query(json!(["a&", "b"])).unwrap().url, "https://api.example.com/x?q=a%26&q=b");
    assert!(query(json!([["a"]])).is_err());
    let header = |value: &str| render(json!({"headers": {"X-A": "v {{a}}"}}), json!({"a": value}));
    assert!(header("a\r\nX-Admin: 1").is_err() && header("a\nb").is_err() && header("a\u{0}").is_err());
    assert_eq!(header("a: b, c").unwrap().headers, [("X-A".to_owned(), "v a: b, c".to_owned())]);
    let body = |template: &str, kind: &str, arguments: Value| {
        render(
            json!({"method": "POST", "bodyTemplate": template, "headers": {"Content-Type": kind}}),
            arguments,
        )
    };
    let json = "application/json";
    let injected = json!({"a": "x\", \"admin\": true, \"y\": \"\\", "n": 1});
    let sent = body(
        "{\"a\": \"{{a}}\", \"b\": \"<{{a}}>\", \"n\": {{n}}, \"m\": [{{n}}, \"{{b}}\"]}",
        json,
        injected.clone(),
    );
    let sent: Value = serde_json::from_str(&sent.unwrap().body.unwrap()).unwrap();
    assert_eq!(
        sent,
        json!({"a": injected["a"], "b": format!("<{}>", injected["a"].as_str().unwrap()), "n": 1, "m": [1]})
    );
    let form = "application/x-www-form-urlencoded";
    assert_eq!(
        body("a={{a}}&c=1", form, json!({"a": "x&admin=1"})).unwrap().body.unwrap(),
        "a=x%26admin%3D1&c=1"
    );
    assert_eq!(body("{\"a\": \"{{a}}\"}", form, json!({"a": "x&=1"})).unwrap().body.unwrap(), "a=x%26%3D1");
    assert_eq!(
        body("say {{a}}!", "text/plain", json!({"a": "\"hi\""})).unwrap().body.unwrap(),
        "say \"hi\"!"
    );
    let secret = body("{\"k\": \"{{secret.KEY}}\"}", json, json!({})).unwrap().body.unwrap();
    assert_eq!(serde_json::from_str::<Value>(&secret).unwrap(), json!({"k": "s3cret&\"key"}));
}

#[test]
fn arguments_are_checked_against_their_schema() {
    let fields = json!({"queryParams": {"n": "{{n}}"}, "parameters": {"n": {"type": "integer", "required": true, "enum": [1, 2]}}});
    for (arguments, words) in [
        (json!({}), "missing"),
        (json!({"n": null}), "missing"),
        (json!({"n": "1"}), "integer"),
        (json!({"n": 1.5}), "integer"),
        (json!({"n": 3}), "one of"),
        (json!({"n": 1, "x": 1}), "\"x\""),
    ] {
        let problem = render(fields.clone(), arguments.clone()).unwrap_err().to_string();
        assert!(problem.contains(words), "{arguments}: {problem}");
    }
    assert!(render(fields, json!({"n": 2})).is_ok());
    let problem =
        render(json!({"queryParams": {"o": "{{o}}"}}), json!({"o": {"a": 1}})).unwrap_err().to_string();
    assert!(problem.contains("object"), "{problem}");
    let missing =
        tool(with(json!({"headers": {"X": "{{secret.OTHER}}"}}))).render(&Map::new(), &BTreeMap::new());
    assert!(missing.unwrap_err().to_string().contains("OTHER"));
}

proptest! {
    #[test]
    fn no_value_changes_the_form_of_a_request(value in ".{0,40}") {
        let fields = json!({
            "method": "POST",
            "url": "https://api.example.com/x/{{a}}/y?p={{a}}&z=1",
            "queryParams": {"q": "{{a}}"},
            "bodyTemplate": "{\"a\": \"{{a}}\", \"b\": \"<{{a}}>\"}",
        });
        if let Ok(request) = render(fields, json!({"a": value})) {
            let url = url::Url::parse(&request.url).unwrap();
            prop_assert_eq!(url.origin().ascii_serialization(), "https://api.example.com");
            prop_assert_eq!(url.path_segments().unwrap().count(), 3);
            let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
            let of = |name: &str, value: &str| (name.to_owned(), value.to_owned());
            prop_assert_eq!(pairs, [of("p", &value), of("z", "1"), of("q", &value)]);
            let body: Value = serde_json::from_str(&request.body.unwrap()).unwrap();
            prop_assert_eq!(body, json!({"a": value, "b": format!("<{value}>")}));
        }
    }

    #[test]
    fn no_template_panics(template in "[{}\"\\\\a. :,]{0,30}", url in "[a{}/?#@:.%&=]{0,20}") {
        let _ = HttpTool::parse(&with(json!({"method": "POST", "bodyTemplate": template})));
        let _ = HttpTool::parse(&with(json!({"url": format!("https://{url}")})));
    }
}
