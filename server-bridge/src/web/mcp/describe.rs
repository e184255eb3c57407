//! A tool of the registry in the protocol's form, and its outcome.

use agent::approval::Access;
use agent::tool::{FileBytes, Outcome, Tool};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::web::error::ApiError;

/// The argument of every tool that works on a machine: the place to use instead of the active one.
pub(super) const RUNNER: &str = "runner";

/// True if a tool changes nothing; a key of scope `read` allows no other tools.
pub(super) fn only_reads(tool: &dyn Tool) -> bool {
    tool.rules().access == Access::Read
}

/// True if a caller may name the place that a tool works in.
pub(super) fn takes_runner(tool: &dyn Tool) -> bool {
    let rules = tool.rules();
    rules.needs_machine && !rules.has_own_place
}

/// A tool's description for clients, under its name for programs.
pub(super) fn describe(name: &str, tool: &dyn Tool) -> rmcp::model::Tool {
    let only_reads = only_reads(tool);
    let annotations = ToolAnnotations::new().read_only(only_reads).open_world(!only_reads);
    let mut schema = object(tool.parameters());
    if takes_runner(tool)
        && let Some(Value::Object(properties)) = schema.get_mut("properties")
    {
        let runner = json!({
            "description": "The runner to use instead of the active one.",
            "type": ["string", "null"],
            "default": null,
        });
        properties.insert(RUNNER.to_owned(), runner);
    }
    let described = rmcp::model::Tool::new(name.to_owned(), tool.description().to_owned(), schema)
        .with_annotations(annotations);
    match tool.output_schema() {
        Some(schema) => described.with_raw_output_schema(object(schema).into()),
        None => described,
    }
}

/// A result in the protocol's form. An error is also returned as a result, so that the model can react to it.
pub(super) fn result(outcome: Result<Outcome, ApiError>) -> CallToolResult {
    let outcome = outcome.unwrap_or_else(|error| {
        let text = format!("{} ({})", error.message, error.kind);
        Outcome { is_error: true, ..Outcome::done(text) }
    });
    let Outcome { text, is_error, for_programs, .. } = outcome;
    let extra = for_programs.map(|extra| *extra).unwrap_or_default();
    let first = extra.bytes.map_or_else(|| ContentBlock::text(text), blob);
    let content = std::iter::once(first).chain(extra.note.map(ContentBlock::text)).collect();
    let mut result = if is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = extra.structured;
    result
}

fn blob(FileBytes { path, bytes }: FileBytes) -> ContentBlock {
    let uri = format!("file:///{}", path.trim_start_matches('/'));
    let resource = ResourceContents::blob(STANDARD.encode(bytes), uri);
    ContentBlock::resource(resource.with_mime_type("application/octet-stream"))
}

/// A schema in the protocol's form.
fn object(schema: Value) -> Map<String, Value> {
    match schema {
        Value::Object(fields) => fields,
        _ => Map::default(),
    }
}

#[cfg(test)]
mod tests {
    use agent::tool::ForPrograms;

    use super::*;

    #[test]
    fn an_error_is_told_as_a_result_in_words_and_its_kind() {
        let told = result(Err(ApiError::new("offline", "runner laptop is offline")));
        let told = serde_json::to_value(told).unwrap();
        assert_eq!(told["isError"], true);
        assert_eq!(told["content"][0]["text"], "runner laptop is offline (offline)");
    }

    #[test]
    fn bytes_that_are_not_text_stand_in_its_place_and_a_note_follows() {
        let bytes = Some(FileBytes { path: "/w/a".to_owned(), bytes: b"\xff\x00".to_vec() });
        let extra = ForPrograms { bytes, note: Some("all of it".to_owned()), structured: Some(json!({})) };
        let told = serde_json::to_value(result(Ok(Outcome::part("").with(extra)))).unwrap();
        let resource = &told["content"][0]["resource"];
        assert_eq!((&resource["blob"], &resource["uri"]), (&"/wA=".into(), &"file:///w/a".into()));
        assert_eq!((&told["content"][1]["text"], &told["isError"]), (&"all of it".into(), &false.into()));
    }
}
