//! The requests about nodes.

use api::node::{NodePut, NodeView};
use hyper::Method;

use super::Answer;
use crate::http::{Client, percent_encoded};
use crate::limits::ANSWER_TIMEOUT;

impl Client {
    /// `GET /api/v1/nodes`.
    pub(crate) async fn nodes(&mut self) -> Answer<Vec<NodeView>> {
        self.get("/api/v1/nodes").await
    }

    /// `PUT /api/v1/nodes?url=`.
    pub(crate) async fn put_node(&mut self, url: &str, put: &NodePut) -> Answer<()> {
        let path = format!("/api/v1/nodes?url={}", percent_encoded(url));
        self.send_document(Method::PUT, &path, put, ANSWER_TIMEOUT).await.map(drop)
    }

    /// `DELETE /api/v1/nodes?url=`.
    pub(crate) async fn forget_node(&mut self, url: &str) -> Answer<()> {
        self.delete(&format!("/api/v1/nodes?url={}", percent_encoded(url))).await
    }
}
