use serde_json::json;

use super::*;

fn document(paths: Value, more: Value) -> String {
    let mut document =
        json!({"openapi": "3.0.3", "servers": [{"url": "https://api.example.com/v1/"}], "paths": paths});
    for (name, value) in fields(Some(&more)) {
        document[name] = value.clone();
    }
    document.to_string()
}

fn one(operation: Value, more: Value) -> Imported {
    import(&document(json!({"/a/{id}": {"post": operation}}), more), None).unwrap()
}

fn id() -> Value {
    json!({"name": "id", "in": "path", "required": true, "schema": {"type": "string"}})
}

fn call(tool: &HttpTool, arguments: Value) -> crate::Request {
    let secrets = [("key", "k"), ("token", "t"), ("bearer", "b")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    tool.render(arguments.as_object().unwrap(), &secrets.into()).unwrap()
}

#[test]
fn an_operation_is_a_tool_with_all_its_parameters() {
    let imported = one(
        json!({
            "operationId": "pets.update", "summary": "Changes a pet", "description": "By its id.",
            "parameters": [
                id(),
                {"name": "filter[name]", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
                {"name": "X-Trace", "in": "header", "schema": {"$ref": "#/components/schemas/Trace"}},
                {"name": "Authorization", "in": "header", "schema": {"type": "string"}},
            ],
            "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}},
            "security": [{"oauth": []}, {"key": [], "token": []}],
        }),
        json!({"components": {
            "schemas": {
                "Trace": {"type": "string", "nullable": true, "example": "x"},
                "Pet": {"type": "object", "required": ["name", "id"], "properties": {
                    "id": {"type": "integer"}, "name": {"type": "string"}, "made": {"type": "string", "readOnly": true},
                }},
            },
            "securitySchemes": {
                "oauth": {"type": "oauth2"},
                "key": {"type": "apiKey", "in": "query", "name": "api_key"},
                "token": {"type": "http", "scheme": "Bearer"},
            },
        }}),
    );
    assert_eq!(imported.problems, Vec::<String>::new());
    let [tool] = imported.tools.as_slice() else { panic!("{imported:?}") };
    assert_eq!((tool.name(), tool.description()), ("pets_update", "Changes a pet\nBy its id."));
    assert_eq!(tool.schema()["required"], json!(["id", "body_id", "name"]));
    assert_eq!(tool.schema()["properties"]["X-Trace"], json!({"type": ["string", "null"]}));
    assert!(tool.schema()["properties"].get("made").is_none());
    let request = call(
        tool,
        json!({"id": "a/b", "body_id": 7, "name": "\"Rex\"", "filter_name_": ["x", "y&"], "X-Trace": "t1"}),
    );
    assert!(request.url.starts_with("https://api.example.com/v1/a/a%2Fb?"), "{}", request.url);
    for part in ["filter%5Bname%5D=x", "filter%5Bname%5D=y%26", "api_key=k"] {
        assert!(request.url.contains(part), "{}", request.url);
    }
    assert_eq!(
        serde_json::from_str::<Value>(&request.body.unwrap()).unwrap(),
        json!({"id": 7, "name": "\"Rex\""})
    );
    assert!(request.headers.contains(&("Authorization".to_owned(), "Bearer t".to_owned())));
    assert!(request.headers.contains(&("X-Trace".to_owned(), "t1".to_owned())));
}

#[test]
fn what_an_operation_needs_and_is_not_supported_leaves_it_out_by_name() {
    let needs =
        |parameter: Value| one(json!({"operationId": "op", "parameters": [id(), parameter]}), json!({}));
    let body =
        |body: Value| one(json!({"operationId": "op", "parameters": [id()], "requestBody": body}), json!({}));
    let string = json!({"type": "string"});
    for (imported, words) in [
        (needs(json!({"name": "c", "in": "cookie", "required": true, "schema": string})), "cookies"),
        (
            needs(json!({"name": "q", "in": "query", "required": true, "style": "deepObject", "schema": {}})),
            "style",
        ),
        (
            needs(json!({"name": "q", "in": "query", "required": true, "schema": {"type": "object"}})),
            "object",
        ),
        (
            needs(
                json!({"name": "q", "in": "query", "required": true, "schema": {"$ref": "https://a.example/x"}}),
            ),
            "another document",
        ),
        (
            needs(json!({"name": "q", "in": "query", "required": true, "schema": {"$ref": "#/nothing"}})),
            "nowhere",
        ),
        (body(json!({"required": true, "content": {"multipart/form-data": {}}})), "multipart/form-data"),
        (
            one(
                json!({"operationId": "op", "parameters": [id()], "security": [{"b": []}]}),
                json!({"components": {
            "securitySchemes": {"b": {"type": "http", "scheme": "basic"}}}}),
            ),
            "\"b\"",
        ),
        (
            one(
                json!({"operationId": "op", "parameters": [id()], "servers": [{"url": "https://b.example"}]}),
                json!({}),
            ),
            "server",
        ),
        (one(json!({"operationId": "op"}), json!({})), "placeholder"),
    ] {
        assert!(imported.tools.is_empty(), "{words}: {imported:?}");
        let told = imported.problems.join("\n");
        assert!(told.contains("op (POST /a/{id}) is left out") && told.contains(words), "{words}: {told}");
    }
}

#[test]
fn what_is_optional_and_not_supported_is_left_out_of_its_tool() {
    let imported = one(
        json!({
            "operationId": "op",
            "parameters": [id(), {"name": "c", "in": "cookie", "schema": {}}],
            "requestBody": {"content": {"application/octet-stream": {}}},
        }),
        json!({}),
    );
    assert_eq!(imported.tools.len(), 1);
    assert_eq!(imported.problems.len(), 2, "{:?}", imported.problems);
}

#[test]
fn references_end_however_they_are_made() {
    let with = |schemas: Value, schema: Value| {
        one(
            json!({"operationId": "op", "parameters": [id()],
                "requestBody": {"required": true, "content": {"application/json": {"schema": schema}}}}),
            json!({"components": {"schemas": schemas}}),
        )
    };
    let node = json!({"$ref": "#/components/schemas/Node"});
    // An optional property that refers to its own schema is left out; a schema that requires such a property is left
    // out as a whole.
    let tree = json!({"Node": {"type": "object", "properties": {"name": {"type": "string"}, "next": node}}});
    let imported = with(tree, node.clone());
    assert_eq!(imported.tools.len(), 1);
    assert!(
        imported.problems[0].contains("\"next\"") && imported.problems[0].contains("leads back"),
        "{imported:?}"
    );
    for schemas in [
        json!({"Node": node}),
        json!({"Node": {"type": "object", "required": ["next"], "properties": {"next": node}}}),
        json!({"Node": {"type": "array", "items": node}}),
    ] {
        let imported = with(schemas, node.clone());
        assert!(imported.tools.is_empty() && imported.problems[0].contains("leads back"), "{imported:?}");
    }
    // Each level refers to the next one twice: 2^40 values if all were written out.
    let doubled: Map<String, Value> = (0..40)
        .map(|at| {
            let next = json!({"$ref": format!("#/components/schemas/L{}", at + 1)});
            (format!("L{at}"), json!({"anyOf": [next, next]}))
        })
        .collect();
    let imported = with(Value::Object(doubled), json!({"$ref": "#/components/schemas/L0"}));
    assert!(imported.tools.is_empty() && imported.problems.len() == 1, "{imported:?}");
    let looped = import(&document(json!({"/a": {"$ref": "#/paths/~1a"}}), json!({})), None).unwrap();
    assert!(looped.problems[0].contains("leads back"), "{looped:?}");
}

#[test]
fn documents_that_are_none_and_servers_without_a_host_are_refused() {
    let of = |document: Value| import(&document.to_string(), None).unwrap_err().to_string();
    assert!(of(json!({"swagger": "2.0"})).contains("Swagger"));
    assert!(of(json!({"openapi": "3.0.0", "paths": {}})).contains("servers"));
    assert!(of(json!({"openapi": "3.0.0", "servers": [{"url": "/v1"}], "paths": {}})).contains("no host"));
    assert!(
        of(json!({"openapi": "3.1.0", "servers": [{"url": "https://a@b.example"}], "paths": {}}))
            .contains("user name")
    );
    assert!(
        of(json!({"openapi": "3.1.0", "servers": [{"url": "https://{h}.example"}], "paths": {}}))
            .contains("placeholder")
    );
    assert!(of(json!({"openapi": "3.1.0", "servers": [{"url": "https://a.example"}]})).contains("paths"));
    assert!(import("openapi: 3.0.0", None).unwrap_err().to_string().contains("servers"));
    assert!(import("openapi: [", None).unwrap_err().to_string().contains("YAML"));
    let text = json!({"openapi": "3.1.0", "servers": [{"url": "https://{h}.example/", "variables": {"h": {"default": "eu"}}}],
        "paths": {"/x": {"get": {}}, "/x/": {"get": {"operationId": "get_x"}}}});
    let imported = import(&text.to_string(), None).unwrap();
    assert_eq!(imported.tools.len(), 1);
    assert_eq!((imported.tools[0].name(), imported.tools[0].origin()), ("get_x", "https://eu.example"));
    assert!(imported.problems[0].contains("another operation"));
    let other = import(&text.to_string(), Some("http://127.0.0.1:8080/api/")).unwrap();
    assert_eq!(other.tools[0].origin(), "http://127.0.0.1:8080");
}

/// Sandbridge's own API description, which another program generated.
#[test]
fn a_real_document_becomes_tools_and_says_what_it_leaves_out() {
    let text = include_str!("../../../../ui/src/api/openapi.json");
    let imported = import(text, Some("https://sandbridge.example")).unwrap();
    assert!(imported.tools.len() > 100, "{} tools: {:#?}", imported.tools.len(), imported.problems);
    let left_out = imported.problems.iter().filter(|problem| problem.contains("is left out"));
    assert_eq!(left_out.count(), imported.problems.len());
    let named = |name: &str| {
        imported.tools.iter().find(|tool| tool.document()["url"].as_str().unwrap().ends_with(name))
    };
    let tool = named("/api/v1/http-tools/{{name}}/secrets/{{secret}}")
        .expect("it has a tool for the secrets of tools");
    let request = call(tool, json!({"name": "a", "secret": "KEY", "value": null}));
    assert_eq!(
        (request.method, request.url.as_str()),
        ("PUT", "https://sandbridge.example/api/v1/http-tools/a/secrets/KEY")
    );
}

#[test]
fn yaml_gives_the_same_tools_as_json() {
    let text = r#"
openapi: 3.0.3
servers: [{url: https://api.example.com/v1}]
x-common: &id {name: id, in: path, required: true, schema: {type: string}}
paths:
  /a/{id}:
    get:
      operationId: read  # a comment
      description: >
        Reads
        one.
      parameters: [*id]
      responses: {200: {description: fine}}
"#;
    let json = document(
        json!({"/a/{id}": {"get": {"operationId": "read", "description": "Reads one.\n", "parameters": [id()],
            "responses": {"200": {"description": "fine"}}}}}),
        json!({}),
    );
    let documents = |text: &str| {
        let imported = import(text, None).unwrap();
        assert_eq!(imported.problems, [""; 0]);
        imported.tools.iter().map(|tool| tool.document().clone()).collect::<Vec<_>>()
    };
    let tools = documents(text);
    assert_eq!((tools.len(), &tools), (1, &documents(&json)));
}
