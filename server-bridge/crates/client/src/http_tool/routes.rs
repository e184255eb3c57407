//! The routes of HTTP tools.

use api::http_tools::{
    HttpToolApproval, HttpToolDraft, HttpToolImport, HttpToolImported, HttpToolList, HttpToolSaved,
    HttpToolSecretValue, HttpToolTried, HttpToolTry,
};
use hyper::Method;

use crate::failure::Failure;
use crate::http::{Client, percent_encoded, read};
use crate::limits::{ANSWER_TIMEOUT, HTTP_TOOL_TRY_TIMEOUT};
use crate::routes::at_place;

type Answer<T> = Result<T, Failure>;

impl Client {
    /// `GET /api/v1/http-tools`.
    pub(crate) async fn http_tools(&mut self, on: Option<&str>) -> Answer<HttpToolList> {
        self.get(&at_place("/api/v1/http-tools", on)).await
    }

    /// `PUT /api/v1/http-tools/{name}`.
    pub(super) async fn put_http_tool(&mut self, name: &str, draft: HttpToolDraft) -> Answer<HttpToolSaved> {
        let path = of_tool(name, "");
        read(&self.send_document(Method::PUT, &path, &draft, ANSWER_TIMEOUT).await?)
    }

    /// `DELETE /api/v1/http-tools/{name}`.
    pub(super) async fn remove_http_tool(&mut self, name: &str) -> Answer<()> {
        self.delete(&of_tool(name, "")).await
    }

    /// `PUT /api/v1/http-tools/{name}/secrets/{secret}`.
    pub(super) async fn put_http_tool_secret(
        &mut self,
        name: &str,
        secret: &str,
        value: Option<String>,
    ) -> Answer<()> {
        let path = of_tool(name, &format!("/secrets/{}", segment(secret)));
        self.send_document(Method::PUT, &path, &HttpToolSecretValue { value }, ANSWER_TIMEOUT).await.map(drop)
    }

    /// `POST /api/v1/http-tool-imports`.
    pub(super) async fn import_http_tools(&mut self, import: &HttpToolImport) -> Answer<HttpToolImported> {
        let path = "/api/v1/http-tool-imports";
        read(&self.send_document(Method::POST, path, import, ANSWER_TIMEOUT).await?)
    }

    /// `POST /api/v1/http-tools/{name}/try`: answers once the service has answered.
    pub(super) async fn try_http_tool(
        &mut self,
        name: &str,
        arguments: String,
        on: Option<&str>,
    ) -> Answer<HttpToolTried> {
        let path = at_place(&of_tool(name, "/try"), on);
        read(
            &self
                .send_document(Method::POST, &path, &HttpToolTry { arguments }, HTTP_TOOL_TRY_TIMEOUT)
                .await?,
        )
    }

    /// `POST /api/v1/http-tool-approvals`.
    pub(super) async fn approve_http_tool(&mut self, hash: String, on: Option<&str>) -> Answer<()> {
        let path = at_place("/api/v1/http-tool-approvals", on);
        self.send_document(Method::POST, &path, &HttpToolApproval { hash }, ANSWER_TIMEOUT).await.map(drop)
    }

    /// `DELETE /api/v1/http-tool-approvals/{hash}`.
    pub(super) async fn revoke_http_tool(&mut self, hash: &str) -> Answer<()> {
        self.delete(&format!("/api/v1/http-tool-approvals/{}", percent_encoded(hash))).await
    }
}

/// A path of a tool.
fn of_tool(name: &str, what: &str) -> String {
    format!("/api/v1/http-tools/{}{what}", segment(name))
}

fn segment(name: &str) -> String {
    percent_encoded(name).replace('/', "%2F")
}
