//! HTTP tools: requests that the user's agents can send, described by a document instead of code.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problem::Problem;
use crate::words::{ExtensionLayer, HttpToolState};

/// The HTTP tools of a user at a place.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HttpToolList {
    /// The tools, by name; those that are not used come last.
    #[serde(default)]
    #[schema(required)]
    pub tools: Vec<HttpToolView>,
    /// Problems with the documents that define the tools, or with the machine that has some of these documents.
    #[serde(default)]
    #[schema(required)]
    pub problems: Vec<Problem>,
}

/// An HTTP tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HttpToolView {
    /// The name of the tool, without the prefix `http__`.
    pub name: String,
    /// The name by which models call it: `http__NAME`.
    pub wire_name: String,
    /// Who defined it: the administrator, the user, or a file of the workspace.
    pub layer: ExtensionLayer,
    /// The file that defines it; "your tools" for the user's own.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub origin: String,
    /// Whether it is offered to models, or the reason why it is not.
    pub state: HttpToolState,
    /// The tool's description, as models read it.
    pub description: String,
    /// The method of its requests.
    pub method: String,
    /// The scheme, host and port of all its requests: its secrets are bound to them.
    pub server: String,
    /// The runner from whose network its requests are sent; null if the server sends them.
    #[serde(default)]
    #[schema(required)]
    pub via: Option<String>,
    /// The tool's document, as indented JSON.
    pub document: String,
    /// The secrets that it uses.
    #[serde(default)]
    #[schema(required)]
    pub secrets: Vec<HttpToolSecret>,
    /// The SHA-256 of its document; approvals refer to this hash.
    pub hash: String,
}

/// A secret that an HTTP tool uses.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HttpToolSecret {
    /// The name of the secret, as in `{{secret.NAME}}`.
    pub name: String,
    /// True if it has a value for the tool's host.
    pub is_set: bool,
}

/// A document of an HTTP tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HttpToolDraft {
    /// The document in JSON: `name`, `description`, `method`, `url`, `headers`, `queryParams`, `bodyTemplate`, `parameters`,
    /// `responseExtract`, `timeout` in milliseconds, `via`.
    pub text: String,
    /// The runner from whose network its requests are sent, by its name, in place of the document's `via`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
}

/// The part of a document that a client reads before it sends it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct HttpToolDocument {
    /// The tool's name.
    pub name: String,
}

/// The state of the secrets of a saved tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HttpToolSaved {
    /// The secrets that were dropped: the tool no longer uses them, or its host changed.
    #[serde(default)]
    #[schema(required)]
    pub dropped_secrets: Vec<String>,
    /// The secrets that have to be set before the tool can be called.
    #[serde(default)]
    #[schema(required)]
    pub missing_secrets: Vec<String>,
}

/// The value of a secret.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HttpToolSecretValue {
    /// The value, 8 bytes to 8 KiB; null to remove it. It cannot be read again.
    #[serde(default)]
    #[schema(required)]
    pub value: Option<String>,
}

impl std::fmt::Debug for HttpToolSecretValue {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("HttpToolSecretValue(…)")
    }
}

/// An OpenAPI document whose operations become tools.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HttpToolImport {
    /// The document in JSON, of version 3.0 or 3.1.
    pub text: String,
    /// The address of the service, in place of the first server that the document names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The runner from whose network the tools' requests are sent, by its name; the server itself if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// The names of the tools that are wanted; all of them if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// Values of secrets by their names, for all tools that use them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, String>,
    /// True to only report what would be added.
    #[serde(default)]
    pub dry_run: bool,
}

impl std::fmt::Debug for HttpToolImport {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("HttpToolImport(…)")
    }
}

/// The tools of an OpenAPI document.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HttpToolImported {
    /// The names of the tools that were added, or would be.
    #[serde(default)]
    #[schema(required)]
    pub added: Vec<String>,
    /// The operations that were left out, and why.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub problems: Vec<String>,
    /// The secrets that have to be set before the tools can be called.
    #[serde(default)]
    #[schema(required)]
    pub missing_secrets: Vec<String>,
}

/// A test call of an HTTP tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HttpToolTry {
    /// The arguments, as a JSON object.
    pub arguments: String,
}

/// The result of a test call: its request, and the response as a model would read it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HttpToolTried {
    /// The HTTP method of the request.
    pub method: String,
    /// The address, with the names of secrets in place of their values.
    pub url: String,
    /// The headers, as `Name: value`, with the names of secrets in place of their values.
    #[serde(default)]
    #[schema(required)]
    pub headers: Vec<String>,
    /// The body, with the names of secrets in place of their values; null if it has none.
    #[serde(default)]
    #[schema(required)]
    pub body: Option<String>,
    /// The response as a model would read it, or the reason why there is none.
    pub answer: String,
    /// True if the call failed.
    pub is_error: bool,
}

/// An approval of an HTTP tool of a workspace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HttpToolApproval {
    /// The hash of the tool that the user looked at.
    pub hash: String,
}
