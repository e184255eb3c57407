//! The routes of channels.

use api::channel::{
    ChannelCode, ChannelList, ChannelLoggedIn, ChannelLoginList, ChannelLoginStart, ChannelNotices,
    ChannelPut, ChannelTested, ChannelView,
};
use api::mcp::{McpLogin, McpLoginEnd};
use hyper::Method;

use crate::failure::Failure;
use crate::http::{Client, percent_encoded, read};
use crate::limits::{ANSWER_TIMEOUT, MCP_LOGIN_ANSWER_TIMEOUT};

type Answer<T> = Result<T, Failure>;

impl Client {
    /// `GET /api/v1/channels`.
    pub(crate) async fn channels(&mut self) -> Answer<ChannelList> {
        self.get("/api/v1/channels").await
    }

    /// `PUT /api/v1/channels/{name}`.
    pub(super) async fn put_channel(&mut self, name: &str, put: &ChannelPut) -> Answer<ChannelView> {
        read(&self.send_document(Method::PUT, &of(name, ""), put, ANSWER_TIMEOUT).await?)
    }

    /// `DELETE /api/v1/channels/{name}`.
    pub(super) async fn remove_channel(&mut self, name: &str) -> Answer<()> {
        self.delete(&of(name, "")).await
    }

    /// `POST /api/v1/channels/{name}/test`.
    pub(super) async fn test_channel(&mut self, name: &str) -> Answer<ChannelTested> {
        read(&self.ask(Method::POST, &of(name, "/test")).await?)
    }

    /// `POST /api/v1/channels/{name}/link`.
    pub(super) async fn link_channel(&mut self, name: &str) -> Answer<ChannelCode> {
        read(&self.ask(Method::POST, &of(name, "/link")).await?)
    }

    /// `DELETE /api/v1/channel-links/{id}`.
    pub(super) async fn unlink_channel(&mut self, link: i64) -> Answer<()> {
        self.delete(&format!("/api/v1/channel-links/{link}")).await
    }

    /// `PUT /api/v1/channel-links/{id}/notices`.
    pub(super) async fn set_channel_notices(&mut self, link: i64, put: ChannelNotices) -> Answer<()> {
        let path = format!("/api/v1/channel-links/{link}/notices");
        self.send_document(Method::PUT, &path, &put, ANSWER_TIMEOUT).await?;
        Ok(())
    }

    /// `GET /api/v1/channel-logins`.
    pub(super) async fn channel_logins(&mut self) -> Answer<ChannelLoginList> {
        self.get("/api/v1/channel-logins").await
    }

    /// `POST /api/v1/channels/{name}/login`.
    pub(super) async fn begin_channel_login(
        &mut self,
        name: &str,
        start: &ChannelLoginStart,
    ) -> Answer<McpLogin> {
        read(&self.send_document(Method::POST, &of(name, "/login"), start, ANSWER_TIMEOUT).await?)
    }

    /// `POST /api/v1/channel-logins`, with the address to which the browser was sent back.
    pub(super) async fn end_channel_login(&mut self, url: String) -> Answer<ChannelLoggedIn> {
        let (path, end) = ("/api/v1/channel-logins", McpLoginEnd { url });
        read(&self.send_document(Method::POST, path, &end, MCP_LOGIN_ANSWER_TIMEOUT).await?)
    }

    /// `DELETE /api/v1/channels/{name}/login`.
    pub(super) async fn forget_channel_login(&mut self, name: &str) -> Answer<()> {
        self.delete(&of(name, "/login")).await
    }
}

fn of(name: &str, what: &str) -> String {
    format!("/api/v1/channels/{}{what}", percent_encoded(name))
}
