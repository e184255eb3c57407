//! The routes of automations.

use api::automation::{
    AutomationPause, AutomationPut, AutomationRun, AutomationSaved, AutomationStart, AutomationView,
};
use hyper::Method;

use crate::failure::Failure;
use crate::http::{Client, percent_encoded, read};
use crate::limits::ANSWER_TIMEOUT;

type Answer<T> = Result<T, Failure>;

impl Client {
    /// `GET /api/v1/automations`.
    pub(crate) async fn automations(&mut self) -> Answer<Vec<AutomationView>> {
        self.get("/api/v1/automations").await
    }

    /// `PUT /api/v1/automations/{name}`.
    pub(super) async fn put_automation(
        &mut self,
        name: &str,
        put: &AutomationPut,
    ) -> Answer<AutomationSaved> {
        read(&self.send_document(Method::PUT, &of(name, ""), put, ANSWER_TIMEOUT).await?)
    }

    /// `DELETE /api/v1/automations/{name}`.
    pub(super) async fn remove_automation(&mut self, name: &str) -> Answer<()> {
        self.delete(&of(name, "")).await
    }

    /// `POST /api/v1/automations/{name}/pause`.
    pub(super) async fn pause_automation(&mut self, name: &str, paused: bool) -> Answer<AutomationView> {
        let pause = AutomationPause { paused };
        read(&self.send_document(Method::POST, &of(name, "/pause"), &pause, ANSWER_TIMEOUT).await?)
    }

    /// `POST /api/v1/automations/{name}/address`.
    pub(super) async fn new_automation_address(&mut self, name: &str) -> Answer<AutomationSaved> {
        read(&self.ask(Method::POST, &of(name, "/address")).await?)
    }

    /// `POST /api/v1/automations/{name}/runs`.
    pub(super) async fn start_automation(
        &mut self,
        name: &str,
        start: &AutomationStart,
    ) -> Answer<AutomationRun> {
        read(&self.send_document(Method::POST, &of(name, "/runs"), start, ANSWER_TIMEOUT).await?)
    }

    /// `GET /api/v1/automations/{name}/runs`.
    pub(super) async fn automation_runs(
        &mut self,
        name: &str,
        before: Option<i64>,
    ) -> Answer<Vec<AutomationRun>> {
        let before = before.map_or_else(String::new, |before| format!("?before={before}"));
        self.get(&of(name, &format!("/runs{before}"))).await
    }
}

fn of(name: &str, what: &str) -> String {
    format!("/api/v1/automations/{}{what}", percent_encoded(name))
}
