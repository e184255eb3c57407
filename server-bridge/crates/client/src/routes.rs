//! One method per route of the server's HTTP interface; requests and responses are the documents of crate `api`.

mod extension;
mod memory;
mod node;

use api::chat::{Cancelled, ChatView, CommandView, Fork, MessagePage, NewMessage, NewTitle, PostedView};
use api::container::ContainerView;
use api::exec::{CancelledExec, ExecView, ReportView, RunAsQuestion};
use api::file::StatView;
use api::hooks::{HookApproval, HookDocument, HookList, HookRunView, HookTrial, HookTrialView};
use api::key::{KeyView, MadeKey, NewKey};
use api::mcp::{
    McpApproval, McpLoggedIn, McpLogin, McpLoginEnd, McpLoginStart, McpServerEntry, McpServerList,
    McpServerView,
};
use api::model::{
    ModelChoice, ModelList, OfferedModels, ProviderDocument, SubscriptionDocument, SubscriptionView,
    TrialView,
};
use api::rules::{NewRule, RuleTrial, RuleTrialView, RuleView};
use api::runner::{NewRunner, RunnerView, TokenView, UpdateStarted};
use api::server_settings::{ServerSettings, ServerSettingsChange};
use api::session::{LoggedIn, Login, Me, SignInView};
use api::settings::{SettingsChange, SettingsChanged, SettingsView};
use api::tui::TuiAnswer;
use api::turn::{ApprovalAnswer, ApprovalMode, QuestionAnswer, TakenBackView, Undo};
use api::usage::UsageView;
use api::words::Approval;
use hyper::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::Failure;
use crate::http::{Client, path_query, percent_encoded, read};
use crate::limits::{
    ANSWER_TIMEOUT, HOOK_TRIAL_TIMEOUT, MCP_LOGIN_ANSWER_TIMEOUT, MCP_SERVER_CHECK_TIMEOUT, UPDATE_TIMEOUT,
};

type Answer<T> = Result<T, Failure>;

/// The requested messages of a chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// The newest messages.
    Newest,
    /// The messages before the one with this id.
    Before(i64),
    /// The messages after the one with this id.
    After(i64),
}

impl Client {
    /// `POST /api/v1/login`.
    pub(crate) async fn log_in(&mut self, login: &Login) -> Answer<LoggedIn> {
        self.post("/api/v1/login", login).await
    }

    /// `POST /api/v1/logout`.
    pub(crate) async fn log_out(&mut self) -> Answer<()> {
        self.ask(Method::POST, "/api/v1/logout").await.map(drop)
    }

    /// `GET /api/v1/me`.
    pub(crate) async fn me(&mut self) -> Answer<Me> {
        self.get("/api/v1/me").await
    }

    /// `POST /api/v1/sign-ins`.
    ///
    /// # Errors
    /// The error that the server or a proxy reports.
    pub async fn sign_in_code(&mut self) -> Answer<SignInView> {
        read(&self.ask(Method::POST, "/api/v1/sign-ins").await?)
    }

    /// `GET /api/v1/runners`.
    pub(crate) async fn runners(&mut self) -> Answer<Vec<RunnerView>> {
        self.get("/api/v1/runners").await
    }

    /// `POST /api/v1/runners`.
    pub(crate) async fn add_runner(&mut self, runner: &NewRunner) -> Answer<TokenView> {
        self.post("/api/v1/runners", runner).await
    }

    /// `POST /api/v1/runners/{name}/rotate`.
    pub(crate) async fn rotate_runner(&mut self, name: &str) -> Answer<TokenView> {
        read(&self.ask(Method::POST, &format!("/api/v1/runners/{}/rotate", percent_encoded(name))).await?)
    }

    /// `POST /api/v1/runners/{name}/update`: answers once the new program is on the machine.
    pub(crate) async fn update_runner(&mut self, name: &str) -> Answer<UpdateStarted> {
        let path = format!("/api/v1/runners/{}/update", percent_encoded(name));
        read(&self.send_document(Method::POST, &path, &(), UPDATE_TIMEOUT).await?)
    }

    /// `DELETE /api/v1/runners/{name}`.
    pub(crate) async fn revoke_runner(&mut self, name: &str) -> Answer<()> {
        self.delete(&format!("/api/v1/runners/{}", percent_encoded(name))).await
    }

    /// `GET /api/v1/settings`.
    pub(crate) async fn settings(&mut self) -> Answer<SettingsView> {
        self.get("/api/v1/settings").await
    }

    /// `PUT /api/v1/settings`; if `active_runner` is `None`, the server chooses a place.
    pub(crate) async fn use_place(&mut self, active_runner: Option<String>) -> Answer<SettingsChanged> {
        self.put("/api/v1/settings", &SettingsChange { active_runner }).await
    }

    /// `GET /api/v1/keys`.
    pub(crate) async fn keys(&mut self) -> Answer<Vec<KeyView>> {
        self.get("/api/v1/keys").await
    }

    /// `POST /api/v1/keys`.
    pub(crate) async fn add_key(&mut self, key: &NewKey) -> Answer<MadeKey> {
        self.post("/api/v1/keys", key).await
    }

    /// `DELETE /api/v1/keys/{name}`.
    pub(crate) async fn remove_key(&mut self, name: &str) -> Answer<()> {
        self.delete(&format!("/api/v1/keys/{}", percent_encoded(name))).await
    }

    /// `GET /api/v1/models`, for a chat or for all chats that have no model of their own.
    pub(crate) async fn models(&mut self, chat: Option<&str>) -> Answer<ModelList> {
        match chat {
            Some(chat) => self.get(&format!("/api/v1/models?chat={}", percent_encoded(chat))).await,
            None => self.get("/api/v1/models").await,
        }
    }

    /// `POST /api/v1/models`.
    pub(crate) async fn add_model(&mut self, model: &SubscriptionDocument) -> Answer<SubscriptionView> {
        self.post("/api/v1/models", model).await
    }

    /// `PUT /api/v1/models/{name}`.
    pub(crate) async fn replace_model(
        &mut self,
        name: &str,
        model: &SubscriptionDocument,
    ) -> Answer<SubscriptionView> {
        self.put(&format!("/api/v1/models/{}", percent_encoded(name)), model).await
    }

    /// `DELETE /api/v1/models/{name}`.
    pub(crate) async fn remove_model(&mut self, name: &str) -> Answer<()> {
        self.delete(&format!("/api/v1/models/{}", percent_encoded(name))).await
    }

    /// `PUT /api/v1/models/default`; `None` resets a choice.
    pub(crate) async fn choose_model(&mut self, model: Option<String>) -> Answer<ModelChoice> {
        self.put("/api/v1/models/default", &ModelChoice { model }).await
    }

    /// `PUT /api/v1/chats/{id}/model`; `None` resets a choice.
    pub(crate) async fn choose_chat_model(
        &mut self,
        chat: &str,
        model: Option<String>,
    ) -> Answer<ModelChoice> {
        self.put(&of_chat(chat, "/model"), &ModelChoice { model }).await
    }

    /// `POST /api/v1/models/{name}/test`: a tier, or a name, of the subscription.
    pub(crate) async fn test_model(&mut self, name: &str, model: Option<String>) -> Answer<TrialView> {
        self.post(&format!("/api/v1/models/{}/test", percent_encoded(name)), &ModelChoice { model }).await
    }

    /// `POST /api/v1/providers/models`.
    pub(crate) async fn offered_models(&mut self, provider: &ProviderDocument) -> Answer<OfferedModels> {
        self.post("/api/v1/providers/models", provider).await
    }

    /// `GET /api/v1/usage`.
    pub(crate) async fn usage(&mut self, days: u16) -> Answer<UsageView> {
        self.get(&format!("/api/v1/usage?days={days}")).await
    }

    /// `GET /api/v1/commands`.
    pub(crate) async fn commands(&mut self) -> Answer<Vec<CommandView>> {
        self.get("/api/v1/commands").await
    }

    /// `GET /api/v1/chats`.
    pub(crate) async fn chats(&mut self) -> Answer<Vec<ChatView>> {
        self.get("/api/v1/chats").await
    }

    /// `POST /api/v1/chats`: the empty chat, or a new one.
    pub(crate) async fn empty_chat(&mut self) -> Answer<ChatView> {
        read(&self.ask(Method::POST, "/api/v1/chats?reuse_empty=true").await?)
    }

    /// `POST /api/v1/chats`.
    pub(crate) async fn new_chat(&mut self) -> Answer<ChatView> {
        read(&self.ask(Method::POST, "/api/v1/chats").await?)
    }

    /// `PUT /api/v1/chats/{id}`.
    pub(crate) async fn rename_chat(&mut self, chat: &str, title: String) -> Answer<ChatView> {
        self.put(&of_chat(chat, ""), &NewTitle { title }).await
    }

    /// `DELETE /api/v1/chats/{id}`.
    pub(crate) async fn delete_chat(&mut self, chat: &str) -> Answer<()> {
        self.delete(&of_chat(chat, "")).await
    }

    /// `POST /api/v1/chats/{id}/fork`, of the whole chat.
    pub(crate) async fn fork_chat(&mut self, chat: &str) -> Answer<ChatView> {
        self.post(&of_chat(chat, "/fork"), &Fork::default()).await
    }

    /// `POST /api/v1/chats/{id}/undo`.
    pub(crate) async fn undo(&mut self, chat: &str, force: bool) -> Answer<TakenBackView> {
        self.post(&of_chat(chat, "/undo"), &Undo { force }).await
    }

    /// `GET /api/v1/chats/{id}/messages`, with a limit.
    pub(crate) async fn messages(&mut self, chat: &str, page: Page, limit: u32) -> Answer<MessagePage> {
        let from = match page {
            Page::Newest => String::new(),
            Page::Before(id) => format!("before={id}&"),
            Page::After(id) => format!("after={id}&"),
        };
        self.get(&of_chat(chat, &format!("/messages?{from}limit={limit}"))).await
    }

    /// `POST /api/v1/chats/{id}/messages`.
    pub(crate) async fn say(&mut self, chat: &str, message: &NewMessage) -> Answer<PostedView> {
        self.post(&of_chat(chat, "/messages"), message).await
    }

    /// `POST /api/v1/chats/{id}/cancel`.
    pub(crate) async fn cancel_chat(&mut self, chat: &str) -> Answer<Cancelled> {
        read(&self.ask(Method::POST, &of_chat(chat, "/cancel")).await?)
    }

    /// `POST /api/v1/chats/{id}/approvals`.
    pub(crate) async fn approve(&mut self, chat: &str, answer: &ApprovalAnswer) -> Answer<()> {
        let path = of_chat(chat, "/approvals");
        self.send_document(Method::POST, &path, answer, ANSWER_TIMEOUT).await.map(drop)
    }

    /// `POST /api/v1/chats/{id}/answers`.
    pub(crate) async fn answer(&mut self, chat: &str, answer: &QuestionAnswer) -> Answer<()> {
        let path = of_chat(chat, "/answers");
        self.send_document(Method::POST, &path, answer, ANSWER_TIMEOUT).await.map(drop)
    }

    /// `POST /api/v1/chats/{id}/tui`.
    pub(crate) async fn answer_tui(&mut self, chat: &str, answer: &TuiAnswer) -> Answer<()> {
        self.send_document(Method::POST, &of_chat(chat, "/tui"), answer, ANSWER_TIMEOUT).await.map(drop)
    }

    /// `PUT /api/v1/chats/{id}/approval`.
    pub(crate) async fn set_approval(&mut self, chat: &str, mode: Approval) -> Answer<ApprovalMode> {
        self.put(&of_chat(chat, "/approval"), &ApprovalMode { mode }).await
    }

    /// `GET /api/v1/rules`.
    pub(crate) async fn rules(&mut self) -> Answer<Vec<RuleView>> {
        self.get("/api/v1/rules").await
    }

    /// `POST /api/v1/rules`.
    pub(crate) async fn add_rule(&mut self, rule: &NewRule) -> Answer<RuleView> {
        self.post("/api/v1/rules", rule).await
    }

    /// `DELETE /api/v1/rules/{id}`.
    pub(crate) async fn remove_rule(&mut self, id: i64) -> Answer<()> {
        self.delete(&format!("/api/v1/rules/{id}")).await
    }

    /// `POST /api/v1/rules/try`.
    pub(crate) async fn try_rules(&mut self, trial: &RuleTrial) -> Answer<RuleTrialView> {
        self.post("/api/v1/rules/try", trial).await
    }

    /// `GET /api/v1/hooks`.
    pub(crate) async fn hooks(&mut self, on: Option<&str>) -> Answer<HookList> {
        self.get(&at_place("/api/v1/hooks", on)).await
    }

    /// `GET /api/v1/hooks/document`.
    pub(crate) async fn hook_document(&mut self) -> Answer<HookDocument> {
        self.get("/api/v1/hooks/document").await
    }

    /// `PUT /api/v1/hooks/document`.
    pub(crate) async fn set_hook_document(&mut self, document: &HookDocument) -> Answer<HookList> {
        self.put("/api/v1/hooks/document", document).await
    }

    /// `POST /api/v1/hooks/approvals`.
    pub(crate) async fn approve_hook(&mut self, hash: String, on: Option<&str>) -> Answer<()> {
        let path = at_place("/api/v1/hooks/approvals", on);
        self.send_document(Method::POST, &path, &HookApproval { hash }, ANSWER_TIMEOUT).await.map(drop)
    }

    /// `DELETE /api/v1/hooks/approvals/{hash}`.
    pub(crate) async fn revoke_hook(&mut self, hash: &str) -> Answer<()> {
        self.delete(&format!("/api/v1/hooks/approvals/{}", percent_encoded(hash))).await
    }

    /// `POST /api/v1/hooks/try`.
    pub(crate) async fn try_hooks(&mut self, trial: &HookTrial, on: Option<&str>) -> Answer<HookTrialView> {
        let path = at_place("/api/v1/hooks/try", on);
        read(&self.send_document(Method::POST, &path, trial, HOOK_TRIAL_TIMEOUT).await?)
    }

    /// `GET /api/v1/hooks/log`.
    pub(crate) async fn hook_log(&mut self) -> Answer<Vec<HookRunView>> {
        self.get("/api/v1/hooks/log").await
    }

    /// `GET /api/v1/mcp-servers`.
    pub(crate) async fn mcp_servers(&mut self, on: Option<&str>) -> Answer<McpServerList> {
        self.get(&at_place("/api/v1/mcp-servers", on)).await
    }

    /// `PUT /api/v1/mcp-servers/{name}`.
    pub(crate) async fn put_mcp_server(&mut self, name: &str, entry: &McpServerEntry) -> Answer<()> {
        let path = of_mcp_server(name, "");
        self.send_document(Method::PUT, &path, entry, ANSWER_TIMEOUT).await.map(drop)
    }

    /// `DELETE /api/v1/mcp-servers/{name}`.
    pub(crate) async fn remove_mcp_server(&mut self, name: &str) -> Answer<()> {
        self.delete(&of_mcp_server(name, "")).await
    }

    /// `POST /api/v1/mcp-servers/{name}/check`: answers once the server has listed its tools.
    pub(crate) async fn check_mcp_server(&mut self, name: &str, on: Option<&str>) -> Answer<McpServerView> {
        let path = at_place(&of_mcp_server(name, "/check"), on);
        read(&self.send_document(Method::POST, &path, &(), MCP_SERVER_CHECK_TIMEOUT).await?)
    }

    /// `POST /api/v1/mcp-servers/{name}/changes`.
    pub(crate) async fn accept_mcp_changes(
        &mut self,
        name: &str,
        hash: String,
        on: Option<&str>,
    ) -> Answer<()> {
        let path = at_place(&of_mcp_server(name, "/changes"), on);
        self.send_document(Method::POST, &path, &McpApproval { hash }, ANSWER_TIMEOUT).await.map(drop)
    }

    /// `POST /api/v1/mcp-server-approvals`.
    pub(crate) async fn approve_mcp_server(&mut self, hash: String, on: Option<&str>) -> Answer<()> {
        let path = at_place("/api/v1/mcp-server-approvals", on);
        self.send_document(Method::POST, &path, &McpApproval { hash }, ANSWER_TIMEOUT).await.map(drop)
    }

    /// `DELETE /api/v1/mcp-server-approvals/{hash}`.
    pub(crate) async fn revoke_mcp_server(&mut self, hash: &str) -> Answer<()> {
        self.delete(&format!("/api/v1/mcp-server-approvals/{}", percent_encoded(hash))).await
    }

    /// `POST /api/v1/mcp-servers/{name}/login`.
    pub(crate) async fn begin_mcp_login(
        &mut self,
        name: &str,
        start: &McpLoginStart,
        on: Option<&str>,
    ) -> Answer<McpLogin> {
        let path = at_place(&of_mcp_server(name, "/login"), on);
        read(&self.send_document(Method::POST, &path, start, MCP_LOGIN_ANSWER_TIMEOUT).await?)
    }

    /// `POST /api/v1/mcp-logins`, with the address to which the browser was sent back.
    pub(crate) async fn end_mcp_login(&mut self, url: String) -> Answer<McpLoggedIn> {
        let (path, end) = ("/api/v1/mcp-logins", McpLoginEnd { url });
        read(&self.send_document(Method::POST, path, &end, MCP_LOGIN_ANSWER_TIMEOUT).await?)
    }

    /// `DELETE /api/v1/mcp-servers/{name}/login`.
    pub(crate) async fn forget_mcp_login(&mut self, name: &str) -> Answer<()> {
        self.delete(&of_mcp_server(name, "/login")).await
    }

    /// `GET /api/v1/execs`, of all or of the running ones.
    pub(crate) async fn execs(&mut self, running: bool) -> Answer<Vec<ExecView>> {
        self.get(if running { "/api/v1/execs?running=true" } else { "/api/v1/execs" }).await
    }

    /// `POST /api/v1/execs/{id}/cancel`.
    pub(crate) async fn cancel_exec(&mut self, id: &str) -> Answer<CancelledExec> {
        read(&self.ask(Method::POST, &format!("/api/v1/execs/{}/cancel", percent_encoded(id))).await?)
    }

    /// `GET /api/v1/execs/{id}/report`, without any output.
    pub(crate) async fn exec_report(&mut self, id: &str) -> Answer<ReportView> {
        self.get(&format!("/api/v1/execs/{}/report?head=0&tail=0", percent_encoded(id))).await
    }

    /// `GET /api/v1/exec/user`.
    pub(crate) async fn run_as(&mut self, user: &str, on: Option<&str>) -> Answer<RunAsQuestion> {
        self.get(&format!("/api/v1/exec/user?run_as={}{}", percent_encoded(user), on_query(on))).await
    }

    /// `GET /api/v1/server-settings`.
    pub(crate) async fn server_settings(&mut self) -> Answer<ServerSettings> {
        self.get("/api/v1/server-settings").await
    }

    /// `PUT /api/v1/server-settings`.
    pub(crate) async fn change_server_settings(
        &mut self,
        change: &ServerSettingsChange,
    ) -> Answer<ServerSettings> {
        self.put("/api/v1/server-settings", change).await
    }

    /// `POST /api/v1/container/stop`.
    pub(crate) async fn stop_container(&mut self) -> Answer<()> {
        self.send_document(Method::POST, "/api/v1/container/stop", &(), ANSWER_TIMEOUT).await.map(drop)
    }

    /// `GET /api/v1/container`.
    pub(crate) async fn container(&mut self) -> Answer<ContainerView> {
        self.get("/api/v1/container").await
    }

    /// `GET /api/v1/files/stat`.
    pub(crate) async fn stat(&mut self, path: &[u8], on: Option<&str>) -> Answer<StatView> {
        self.get(&format!("/api/v1/files/stat?{}{}", path_query(path), on_query(on))).await
    }

    async fn post<T: DeserializeOwned>(&mut self, path: &str, document: &impl Serialize) -> Answer<T> {
        read(&self.send_document(Method::POST, path, document, ANSWER_TIMEOUT).await?)
    }

    async fn put<T: DeserializeOwned>(&mut self, path: &str, document: &impl Serialize) -> Answer<T> {
        read(&self.send_document(Method::PUT, path, document, ANSWER_TIMEOUT).await?)
    }

    pub(crate) async fn delete(&mut self, path: &str) -> Answer<()> {
        self.ask(Method::DELETE, path).await.map(drop)
    }
}

fn of_chat(chat: &str, what: &str) -> String {
    format!("/api/v1/chats/{}{what}", percent_encoded(chat))
}

/// A path below an MCP server. A name may come from a document that others wrote: its slashes stay within the name.
fn of_mcp_server(name: &str, what: &str) -> String {
    format!("/api/v1/mcp-servers/{}{what}", percent_encoded(name).replace('/', "%2F"))
}

/// A path with the query parameter for a place.
pub(crate) fn at_place(path: &str, on: Option<&str>) -> String {
    on.map_or_else(|| path.to_owned(), |on| format!("{path}?on={}", percent_encoded(on)))
}

/// The query parameter for a place, after other ones.
pub(crate) fn on_query(on: Option<&str>) -> String {
    on.map_or_else(String::new, |on| format!("&on={}", percent_encoded(on)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_one_part_of_its_path() {
        let path = at_place(&of_mcp_server("io.example/a b", "/check"), Some("lap top"));
        assert_eq!(path, "/api/v1/mcp-servers/io.example%2Fa%20b/check?on=lap%20top");
    }
}
