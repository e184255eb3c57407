//! The requests about memories.

use api::memory::{
    ForgetAbout, Forgotten, MemoryDetail, MemoryEdit, MemoryQuery, MemorySettingsView, MemoryView, NewMemory,
};
use hyper::Method;

use super::Answer;
use crate::http::{Client, percent_encoded, read};

impl Client {
    /// `GET /api/v1/memories`.
    pub(crate) async fn memories(&mut self, wanted: &MemoryQuery) -> Answer<Vec<MemoryView>> {
        let MemoryQuery { q, agent, proposed } = wanted;
        let text = |name, value: &Option<String>| {
            value.as_deref().map(|value| format!("{name}={}", percent_encoded(value)))
        };
        let proposed = proposed.then(|| "proposed=true".to_owned());
        let query: Vec<String> =
            text("q", q).into_iter().chain(text("agent", agent)).chain(proposed).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        self.get(&format!("/api/v1/memories{mark}{}", query.join("&"))).await
    }

    /// `GET /api/v1/memories/{id}`.
    pub(crate) async fn memory(&mut self, id: i64) -> Answer<MemoryDetail> {
        self.get(&format!("/api/v1/memories/{id}")).await
    }

    /// `POST /api/v1/memories`.
    pub(crate) async fn keep_memory(&mut self, new: &NewMemory) -> Answer<MemoryView> {
        self.post("/api/v1/memories", new).await
    }

    /// `PUT /api/v1/memories/{id}`.
    pub(crate) async fn change_memory(&mut self, id: i64, edit: &MemoryEdit) -> Answer<MemoryView> {
        self.put(&format!("/api/v1/memories/{id}"), edit).await
    }

    /// `DELETE /api/v1/memories/{id}`.
    pub(crate) async fn forget_memory(&mut self, id: i64) -> Answer<()> {
        self.delete(&format!("/api/v1/memories/{id}")).await
    }

    /// `POST /api/v1/memories/{id}/accept`.
    pub(crate) async fn accept_memory(&mut self, id: i64) -> Answer<MemoryView> {
        read(&self.ask(Method::POST, &format!("/api/v1/memories/{id}/accept")).await?)
    }

    /// `POST /api/v1/memories/forget`.
    pub(crate) async fn forget_about(&mut self, wanted: &ForgetAbout) -> Answer<Forgotten> {
        self.post("/api/v1/memories/forget", wanted).await
    }

    /// `GET /api/v1/settings/memory`.
    pub(crate) async fn memory_settings(&mut self) -> Answer<MemorySettingsView> {
        self.get("/api/v1/settings/memory").await
    }

    /// `PUT /api/v1/settings/memory`.
    pub(crate) async fn set_memory_settings(
        &mut self,
        wanted: &MemorySettingsView,
    ) -> Answer<MemorySettingsView> {
        self.put("/api/v1/settings/memory", wanted).await
    }
}
