//! The requests about nodes.

use api::node::NodeView;

use super::Answer;
use crate::http::{Client, percent_encoded};

impl Client {
    /// `GET /api/v1/nodes`.
    pub(crate) async fn nodes(&mut self) -> Answer<Vec<NodeView>> {
        self.get("/api/v1/nodes").await
    }

    /// `DELETE /api/v1/nodes?url=`.
    pub(crate) async fn forget_node(&mut self, url: &str) -> Answer<()> {
        self.delete(&format!("/api/v1/nodes?url={}", percent_encoded(url))).await
    }
}
