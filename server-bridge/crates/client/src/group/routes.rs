//! The routes of groups.

use api::chain::{ChainPut, ChainRunView, ChainStart, ChainTemplate, ChainView, GateAnswer};
use api::group::{
    GroupAgentPut, GroupCall, GroupEntries, GroupGrantPut, GroupLead, GroupPersonPut, GroupPost, GroupPosted,
    GroupPut, GroupView,
};
use api::workspace::{AgentTemplate, AgentWorkspace, WorkspaceMake};
use hyper::Method;

use crate::failure::Failure;
use crate::http::{Client, percent_encoded, read};
use crate::limits::ANSWER_TIMEOUT;

type Answer<T> = Result<T, Failure>;

const GROUPS: &str = "/api/v1/groups";

impl Client {
    /// `GET /api/v1/groups`.
    pub(crate) async fn groups(&mut self) -> Answer<Vec<GroupView>> {
        self.get(GROUPS).await
    }

    /// `POST /api/v1/groups`.
    pub(super) async fn create_group(&mut self, title: &str) -> Answer<GroupView> {
        read(
            &self
                .send_document(Method::POST, GROUPS, &GroupPut { title: title.to_owned() }, ANSWER_TIMEOUT)
                .await?,
        )
    }

    /// `GET /api/v1/groups/{group}`.
    pub(crate) async fn group(&mut self, group: i64) -> Answer<GroupView> {
        self.get(&format!("{GROUPS}/{group}")).await
    }

    /// `PUT /api/v1/groups/{group}`.
    pub(super) async fn rename_group(&mut self, group: i64, title: &str) -> Answer<GroupView> {
        read(
            &self
                .send_document(
                    Method::PUT,
                    &format!("{GROUPS}/{group}"),
                    &GroupPut { title: title.to_owned() },
                    ANSWER_TIMEOUT,
                )
                .await?,
        )
    }

    /// `DELETE /api/v1/groups/{group}`.
    pub(super) async fn delete_group(&mut self, group: i64) -> Answer<()> {
        self.delete(&format!("{GROUPS}/{group}")).await
    }

    /// `POST /api/v1/groups/{group}/entries`.
    pub(crate) async fn post_to_group(&mut self, group: i64, post: &GroupPost) -> Answer<GroupPosted> {
        read(
            &self
                .send_document(Method::POST, &format!("{GROUPS}/{group}/entries"), post, ANSWER_TIMEOUT)
                .await?,
        )
    }

    /// `GET /api/v1/groups/{group}/calls`.
    pub(crate) async fn group_calls(&mut self, group: i64) -> Answer<Vec<GroupCall>> {
        self.get(&format!("{GROUPS}/{group}/calls")).await
    }

    /// `PUT /api/v1/groups/{group}/people/{name}`.
    pub(super) async fn put_person(
        &mut self,
        group: i64,
        name: &str,
        put: &GroupPersonPut,
    ) -> Answer<GroupView> {
        read(
            &self
                .send_document(
                    Method::PUT,
                    &format!("{GROUPS}/{group}/people/{}", percent_encoded(name)),
                    put,
                    ANSWER_TIMEOUT,
                )
                .await?,
        )
    }

    /// `DELETE /api/v1/groups/{group}/people/{name}`.
    pub(super) async fn remove_person(&mut self, group: i64, name: &str) -> Answer<()> {
        self.delete(&format!("{GROUPS}/{group}/people/{}", percent_encoded(name))).await
    }

    /// `PUT /api/v1/groups/{group}/agents/{handle}`.
    pub(super) async fn put_agent(
        &mut self,
        group: i64,
        handle: &str,
        put: &GroupAgentPut,
    ) -> Answer<GroupView> {
        read(
            &self
                .send_document(
                    Method::PUT,
                    &format!("{GROUPS}/{group}/agents/{}", percent_encoded(handle)),
                    put,
                    ANSWER_TIMEOUT,
                )
                .await?,
        )
    }

    /// `GET /api/v1/agent-templates`.
    pub(super) async fn agent_templates(&mut self) -> Answer<Vec<AgentTemplate>> {
        self.get("/api/v1/agent-templates").await
    }

    /// `GET /api/v1/groups/{group}/agents/{handle}/workspace`.
    pub(super) async fn workspace(&mut self, group: i64, handle: &str) -> Answer<AgentWorkspace> {
        self.get(&format!("{GROUPS}/{group}/agents/{}/workspace", percent_encoded(handle))).await
    }

    /// `POST /api/v1/groups/{group}/agents/{handle}/workspace`.
    pub(super) async fn make_workspace(
        &mut self,
        group: i64,
        handle: &str,
        make: &WorkspaceMake,
    ) -> Answer<AgentWorkspace> {
        let path = format!("{GROUPS}/{group}/agents/{}/workspace", percent_encoded(handle));
        read(&self.send_document(Method::POST, &path, make, ANSWER_TIMEOUT).await?)
    }

    /// `DELETE /api/v1/groups/{group}/agents/{handle}`.
    pub(super) async fn remove_agent(&mut self, group: i64, handle: &str) -> Answer<()> {
        self.delete(&format!("{GROUPS}/{group}/agents/{}", percent_encoded(handle))).await
    }

    /// `PUT /api/v1/groups/{group}/lead`.
    pub(super) async fn set_lead(&mut self, group: i64, lead: &GroupLead) -> Answer<GroupView> {
        read(&self.send_document(Method::PUT, &format!("{GROUPS}/{group}/lead"), lead, ANSWER_TIMEOUT).await?)
    }

    /// `PUT /api/v1/groups/{group}/agents/{handle}/grants/{name}`.
    pub(super) async fn put_grant(
        &mut self,
        group: i64,
        handle: &str,
        name: &str,
        put: &GroupGrantPut,
    ) -> Answer<GroupView> {
        read(
            &self
                .send_document(
                    Method::PUT,
                    &format!(
                        "{GROUPS}/{group}/agents/{}/grants/{}",
                        percent_encoded(handle),
                        percent_encoded(name)
                    ),
                    put,
                    ANSWER_TIMEOUT,
                )
                .await?,
        )
    }

    /// `DELETE /api/v1/groups/{group}/agents/{handle}/grants/{name}`.
    pub(super) async fn remove_grant(&mut self, group: i64, handle: &str, name: &str) -> Answer<()> {
        self.delete(&format!(
            "{GROUPS}/{group}/agents/{}/grants/{}",
            percent_encoded(handle),
            percent_encoded(name)
        ))
        .await
    }

    /// `GET /api/v1/chain-templates`.
    pub(super) async fn chain_templates(&mut self) -> Answer<Vec<ChainTemplate>> {
        self.get("/api/v1/chain-templates").await
    }

    /// `GET /api/v1/groups/{group}/chains`.
    pub(super) async fn chains(&mut self, group: i64) -> Answer<Vec<ChainView>> {
        self.get(&format!("{GROUPS}/{group}/chains")).await
    }

    /// `PUT /api/v1/groups/{group}/chains/{name}`.
    pub(super) async fn put_chain(&mut self, group: i64, name: &str, put: &ChainPut) -> Answer<ChainView> {
        read(
            &self
                .send_document(
                    Method::PUT,
                    &format!("{GROUPS}/{group}/chains/{}", percent_encoded(name)),
                    put,
                    ANSWER_TIMEOUT,
                )
                .await?,
        )
    }

    /// `DELETE /api/v1/groups/{group}/chains/{name}`.
    pub(super) async fn remove_chain(&mut self, group: i64, name: &str) -> Answer<()> {
        self.delete(&format!("{GROUPS}/{group}/chains/{}", percent_encoded(name))).await
    }

    /// `POST /api/v1/groups/{group}/chains/{name}/runs`.
    pub(super) async fn begin_run(
        &mut self,
        group: i64,
        name: &str,
        start: &ChainStart,
    ) -> Answer<ChainRunView> {
        read(
            &self
                .send_document(
                    Method::POST,
                    &format!("{GROUPS}/{group}/chains/{}/runs", percent_encoded(name)),
                    start,
                    ANSWER_TIMEOUT,
                )
                .await?,
        )
    }

    /// `GET /api/v1/groups/{group}/runs/{run}`.
    pub(crate) async fn chain_run(&mut self, group: i64, run: i64) -> Answer<ChainRunView> {
        self.get(&format!("{GROUPS}/{group}/runs/{run}")).await
    }

    /// `POST /api/v1/groups/{group}/runs/{run}/stop`.
    pub(super) async fn stop_run(&mut self, group: i64, run: i64) -> Answer<ChainRunView> {
        read(&self.ask(Method::POST, &format!("{GROUPS}/{group}/runs/{run}/stop")).await?)
    }

    /// `POST /api/v1/groups/{group}/gates/{gate}`.
    pub(crate) async fn answer_gate(
        &mut self,
        group: i64,
        gate: i64,
        answer: &GateAnswer,
    ) -> Answer<ChainRunView> {
        read(
            &self
                .send_document(
                    Method::POST,
                    &format!("{GROUPS}/{group}/gates/{gate}"),
                    answer,
                    ANSWER_TIMEOUT,
                )
                .await?,
        )
    }

    /// `POST /api/v1/groups/{group}/calls/{call}/cancel`.
    pub(super) async fn cancel_call(&mut self, group: i64, call: i64) -> Answer<()> {
        self.ask(Method::POST, &format!("{GROUPS}/{group}/calls/{call}/cancel")).await?;
        Ok(())
    }

    /// `GET /api/v1/groups/{group}/entries`.
    pub(crate) async fn group_entries(
        &mut self,
        group: i64,
        before: Option<i64>,
        after: Option<i64>,
    ) -> Answer<GroupEntries> {
        let before = before.map(|before| format!("?before={before}"));
        let part = after.map(|after| format!("?after={after}")).or(before).unwrap_or_default();
        self.get(&format!("{GROUPS}/{group}/entries{part}")).await
    }

    /// `GET /api/v1/groups/{group}/runs`.
    pub(crate) async fn chain_runs(&mut self, group: i64, before: Option<i64>) -> Answer<Vec<ChainRunView>> {
        let before = before.map_or_else(String::new, |before| format!("?before={before}"));
        self.get(&format!("{GROUPS}/{group}/runs{before}")).await
    }
}
