//! The requests about plugins and trust.

use api::plugin::{
    MarketplaceList, MarketplaceView, NewMarketplace, NewPlugin, PluginChange, PluginList, PluginSharing,
    PluginView, ShelfList,
};
use api::trust::{TrustList, TrustRequest};
use hyper::Method;

use super::{Answer, at_place};
use crate::http::{Client, percent_encoded, read};
use crate::limits::{ANSWER_TIMEOUT, PLUGIN_TIMEOUT};

impl Client {
    /// `GET /api/v1/plugins`.
    pub(crate) async fn plugins(&mut self) -> Answer<PluginList> {
        self.get("/api/v1/plugins").await
    }

    /// `POST /api/v1/plugins/look`.
    pub(crate) async fn look_at_plugin(&mut self, new: &NewPlugin) -> Answer<PluginView> {
        let answer = self.send_document(Method::POST, "/api/v1/plugins/look", new, PLUGIN_TIMEOUT).await?;
        read(&answer)
    }

    /// `POST /api/v1/plugins`.
    pub(crate) async fn install_plugin(&mut self, new: &NewPlugin) -> Answer<PluginView> {
        let answer = self.send_document(Method::POST, "/api/v1/plugins", new, PLUGIN_TIMEOUT).await?;
        read(&answer)
    }

    /// `PUT /api/v1/plugins/{name}`.
    pub(crate) async fn change_plugin(&mut self, name: &str, change: &PluginChange) -> Answer<PluginView> {
        self.put(&format!("/api/v1/plugins/{}", percent_encoded(name)), change).await
    }

    /// `DELETE /api/v1/plugins/{name}`.
    pub(crate) async fn remove_plugin(&mut self, name: &str) -> Answer<()> {
        self.delete(&format!("/api/v1/plugins/{}", percent_encoded(name))).await
    }

    /// `PUT /api/v1/plugins/{name}/sharing`.
    pub(crate) async fn share_plugin(&mut self, name: &str, sharing: &PluginSharing) -> Answer<PluginView> {
        self.put(&format!("/api/v1/plugins/{}/sharing", percent_encoded(name)), sharing).await
    }

    /// `GET /api/v1/shelf`.
    pub(crate) async fn shelf(&mut self) -> Answer<ShelfList> {
        self.get("/api/v1/shelf").await
    }

    /// `DELETE /api/v1/shelf/{owner}/{name}`.
    pub(crate) async fn take_off_shelf(&mut self, owner: &str, name: &str) -> Answer<()> {
        self.delete(&format!("/api/v1/shelf/{}/{}", percent_encoded(owner), percent_encoded(name))).await
    }

    /// `GET /api/v1/marketplaces`.
    pub(crate) async fn marketplaces(&mut self) -> Answer<MarketplaceList> {
        self.get("/api/v1/marketplaces").await
    }

    /// `POST /api/v1/marketplaces`.
    pub(crate) async fn add_marketplace(&mut self, source: String) -> Answer<MarketplaceView> {
        let new = NewMarketplace { source };
        read(&self.send_document(Method::POST, "/api/v1/marketplaces", &new, PLUGIN_TIMEOUT).await?)
    }

    /// `POST /api/v1/marketplaces/{name}/update`.
    pub(crate) async fn update_marketplace(&mut self, name: &str) -> Answer<MarketplaceView> {
        let path = format!("/api/v1/marketplaces/{}/update", percent_encoded(name));
        read(&self.send_document(Method::POST, &path, &(), PLUGIN_TIMEOUT).await?)
    }

    /// `DELETE /api/v1/marketplaces/{name}`.
    pub(crate) async fn remove_marketplace(&mut self, name: &str) -> Answer<()> {
        self.delete(&format!("/api/v1/marketplaces/{}", percent_encoded(name))).await
    }

    /// `GET /api/v1/trust`.
    pub(crate) async fn trust(&mut self, on: Option<&str>) -> Answer<TrustList> {
        self.get(&at_place("/api/v1/trust", on)).await
    }

    /// `POST /api/v1/trust/approvals`.
    pub(crate) async fn trust_item(&mut self, hash: String, on: Option<&str>) -> Answer<()> {
        let path = at_place("/api/v1/trust/approvals", on);
        self.send_document(Method::POST, &path, &TrustRequest { hash }, ANSWER_TIMEOUT).await.map(drop)
    }

    /// `DELETE /api/v1/trust/approvals/{hash}`.
    pub(crate) async fn distrust(&mut self, hash: &str) -> Answer<()> {
        self.delete(&format!("/api/v1/trust/approvals/{}", percent_encoded(hash))).await
    }
}
