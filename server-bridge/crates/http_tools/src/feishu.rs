//! Feishu's Bitable, Wiki, Docs and Drive as documents of tools: each declares one request, with the user's own token.

use serde_json::{Map, Value, json};

/// The secret that contains the user's token.
pub const TOKEN: &str = "FEISHU_USER_TOKEN";

/// A request: its name in Feishu's own package, the method, the path, the names in the query, the names in the body, and a
/// description. A `?` marks an optional name; the part after `:` is its JSON type, a string if there is none.
type Row = (&'static str, &'static str, &'static str, &'static str, &'static str, &'static str);

const PAGE: &str = "page_size?:integer page_token?";

#[rustfmt::skip]
const ROWS: [Row; 27] = [
    ("bitable.v1.app.create", "POST", "bitable/v1/apps", "", "name? folder_token?", "Creates a Bitable."),
    ("bitable.v1.app.get", "GET", "bitable/v1/apps/{app_token}", "", "", "Reads the name and the settings of a Bitable."),
    ("bitable.v1.appTable.list", "GET", "bitable/v1/apps/{app_token}/tables", PAGE, "", "Lists the tables of a Bitable."),
    ("bitable.v1.appTable.create", "POST", "bitable/v1/apps/{app_token}/tables", "", "table:object", "Adds a table to a Bitable."),
    ("bitable.v1.appTableField.list", "GET", "bitable/v1/apps/{app_token}/tables/{table_id}/fields", PAGE, "", "Lists the fields of a table."),
    ("bitable.v1.appTableView.list", "GET", "bitable/v1/apps/{app_token}/tables/{table_id}/views", PAGE, "", "Lists the views of a table."),
    ("bitable.v1.appTableRecord.search", "POST", "bitable/v1/apps/{app_token}/tables/{table_id}/records/search", PAGE, "view_id? field_names?:array sort?:array filter?:object automatic_fields?:boolean", "Finds records of a table."),
    ("bitable.v1.appTableRecord.create", "POST", "bitable/v1/apps/{app_token}/tables/{table_id}/records", "", "fields:object", "Adds a record to a table."),
    ("bitable.v1.appTableRecord.update", "PUT", "bitable/v1/apps/{app_token}/tables/{table_id}/records/{record_id}", "", "fields:object", "Changes a record of a table."),
    ("bitable.v1.appTableRecord.delete", "DELETE", "bitable/v1/apps/{app_token}/tables/{table_id}/records/{record_id}", "", "", "Deletes a record of a table."),
    ("bitable.v1.appTableRecord.batchCreate", "POST", "bitable/v1/apps/{app_token}/tables/{table_id}/records/batch_create", "", "records:array", "Adds records to a table."),
    ("bitable.v1.appTableRecord.batchUpdate", "POST", "bitable/v1/apps/{app_token}/tables/{table_id}/records/batch_update", "", "records:array", "Changes records of a table."),
    ("wiki.v2.space.list", "GET", "wiki/v2/spaces", PAGE, "", "Lists the Wiki spaces of the user."),
    ("wiki.v2.space.getNode", "GET", "wiki/v2/spaces/get_node", "token obj_type?", "", "Reads which object a Wiki node refers to."),
    ("wiki.v2.spaceNode.list", "GET", "wiki/v2/spaces/{space_id}/nodes", "page_size?:integer page_token? parent_node_token?", "", "Lists the nodes of a Wiki space."),
    ("wiki.v2.spaceNode.create", "POST", "wiki/v2/spaces/{space_id}/nodes", "", "obj_type node_type parent_node_token? origin_node_token? title?", "Adds a node to a Wiki space."),
    ("wiki.v1.node.search", "POST", "wiki/v1/nodes/search", PAGE, "query space_id? node_id?", "Finds Wiki nodes by keywords."),
    ("docx.v1.document.create", "POST", "docx/v1/documents", "", "title? folder_token?", "Creates a document."),
    ("docx.v1.document.rawContent", "GET", "docx/v1/documents/{document_id}/raw_content", "lang?:integer", "", "Reads the text of a document."),
    ("docx.v1.documentBlock.list", "GET", "docx/v1/documents/{document_id}/blocks", PAGE, "", "Lists the blocks of a document."),
    ("docx.v1.documentBlockChildren.create", "POST", "docx/v1/documents/{document_id}/blocks/{block_id}/children", "", "children:array index?:integer", "Adds blocks to a document."),
    ("docx.builtin.search", "POST", "suite/docs-api/search/object", "", "search_key count?:integer offset?:integer owner_ids?:array chat_ids?:array docs_types?:array", "Finds documents by keywords."),
    ("drive.v1.file.list", "GET", "drive/v1/files", "page_size?:integer page_token? folder_token?", "", "Lists the files of a folder."),
    ("drive.v1.file.createFolder", "POST", "drive/v1/files/create_folder", "", "name folder_token", "Creates a folder."),
    ("drive.v1.file.copy", "POST", "drive/v1/files/{file_token}/copy", "", "name folder_token type?", "Copies a file."),
    ("drive.v1.file.delete", "DELETE", "drive/v1/files/{file_token}", "type", "", "Moves a file to the trash."),
    ("drive.v1.meta.batchQuery", "POST", "drive/v1/metas/batch_query", "", "request_docs:array with_url?:boolean", "Reads titles, owners and addresses of files."),
];

/// The tools that only read although their requests are not GET.
const READS: [&str; 4] = [
    "bitable.v1.appTableRecord.search",
    "wiki.v1.node.search",
    "docx.builtin.search",
    "drive.v1.meta.batchQuery",
];

/// The names of all tools in Feishu's own package.
pub fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.0)
}

/// True if a tool, by its name in Feishu's own package, changes nothing.
pub fn only_reads(name: &str) -> bool {
    READS.contains(&name) || ROWS.iter().any(|row| row.0 == name && row.1 == "GET")
}

/// The documents of all tools at this address, such as `https://open.feishu.cn`, each with the tool's name in Feishu's own package.
pub fn documents(domain: &str) -> Vec<(&'static str, Value)> {
    ROWS.iter().map(|row| (row.0, document(domain, row))).collect()
}

fn document(domain: &str, (name, method, path, query, body, about): &Row) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    let mut pairs = |words: &str| -> Map<String, Value> {
        words
            .split_whitespace()
            .map(|word| {
                let (key, kind) = word.split_once(':').unwrap_or((word, "string"));
                let name = key.trim_end_matches('?');
                if name == key {
                    required.push(name.to_owned());
                }
                properties.insert(name.to_owned(), json!({"type": kind}));
                (name.to_owned(), json!(format!("{{{{{name}}}}}")))
            })
            .collect()
    };
    let inner: Vec<&str> = path.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect();
    pairs(&inner.join(" "));
    let (query, body) = (pairs(query), pairs(body));
    let path = path.replace('{', "{{").replace('}', "}}");
    let mut document = json!({
        "name": format!("feishu_{}", name.replace('.', "_")),
        "description": about,
        "method": method,
        "url": format!("{domain}/open-apis/{path}"),
        "headers": {"Authorization": format!("Bearer {{{{secret.{TOKEN}}}}}")},
        "queryParams": query,
        "parameters": {"type": "object", "properties": properties, "required": required},
    });
    if !body.is_empty() {
        document["bodyTemplate"] = Value::Object(body);
    }
    document
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use url::Url;

    use super::*;
    use crate::HttpTool;

    #[test]
    fn each_tool_sends_what_the_official_package_sends() {
        let official: Value = serde_json::from_str(include_str!("feishu/official.json")).unwrap();
        let secrets = BTreeMap::from([(TOKEN.to_owned(), "u-token".to_owned())]);
        let documents = documents("https://open.feishu.cn");
        let requests = official["requests"].as_array().unwrap();
        assert_eq!(documents.len(), requests.len());
        for ((name, document), wanted) in documents.iter().zip(requests) {
            assert_eq!(*name, wanted["name"]);
            let tool = HttpTool::parse(document).unwrap();
            let sent = tool.render(wanted["arguments"].as_object().unwrap(), &secrets).unwrap();
            let (url, target) = (Url::parse(&sent.url).unwrap(), wanted["target"].as_str().unwrap());
            let target = Url::parse("https://open.feishu.cn").unwrap().join(target).unwrap();
            let pairs = |url: &Url| url.query_pairs().into_owned().collect::<BTreeMap<_, _>>();
            assert_eq!(
                (sent.method, url.path()),
                (wanted["method"].as_str().unwrap(), target.path()),
                "{name}"
            );
            assert_eq!(pairs(&url), pairs(&target), "{name}");
            // The official package sends an empty object if there is no body.
            let body = sent.body.map_or(json!({}), |body| serde_json::from_str(&body).unwrap());
            assert_eq!(body, wanted["body"], "{name}");
            assert!(sent.headers.contains(&("Authorization".to_owned(), "Bearer u-token".to_owned())));
        }
    }

    #[test]
    fn tools_that_change_something_are_not_taken_for_reading_ones() {
        let writes: Vec<&str> = names().filter(|name| !only_reads(name)).collect();
        let verbs = ["create", "update", "delete", "batchCreate", "batchUpdate", "createFolder", "copy"];
        let is_writing = |name: &&str| verbs.contains(&name.rsplit('.').next().unwrap());
        assert_eq!(writes, names().filter(is_writing).collect::<Vec<_>>());
        assert!(READS.iter().all(|name| names().any(|known| known == *name)));
        assert!(!only_reads("unknown"));
    }

    #[test]
    fn the_page_of_channels_names_each_tool() {
        let page = include_str!("../../../../docs/channels.md");
        let missing: Vec<&str> = names().filter(|name| !page.contains(&format!("`{name}`"))).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
