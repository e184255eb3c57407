//! Every command of the client, in the order of the help.

use crate::command::Registration;

/// Every command of the client, in the order of the help.
pub const COMMANDS: &[Registration] = &[
    Registration::of::<crate::login::LoginOptions>(),
    Registration::of::<crate::logout::LogoutOptions>(),
    Registration::of::<crate::runner::RunnerCommand>(),
    Registration::of::<crate::key::KeyCommand>(),
    Registration::of::<crate::container::ContainerCommand>(),
    Registration::of::<crate::model::ModelCommand>(),
    Registration::of::<crate::memory::MemoryCommand>(),
    Registration::of::<crate::rule::RuleCommand>(),
    Registration::of::<crate::hook::HookCommand>(),
    Registration::of::<crate::http_tool::HttpToolCommand>(),
    Registration::of::<crate::mcp_server::McpServerCommand>(),
    Registration::of::<crate::plugin::PluginCommand>(),
    Registration::of::<crate::knowledge::KnowledgeCommand>(),
    Registration::of::<crate::trust::TrustCommand>(),
    Registration::of::<crate::cron::CronCommand>(),
    Registration::of::<crate::trigger::TriggerCommand>(),
    Registration::of::<crate::channel::ChannelCommand>(),
    Registration::of::<crate::group::GroupCommand>(),
    Registration::of::<crate::server::ServerCommand>(),
    Registration::of::<crate::node::NodeCommand>(),
    Registration::of::<crate::use_place::UseOptions>(),
    Registration::of::<crate::exec::ExecOptions>(),
    Registration::of::<crate::exec::attach::AttachOptions>(),
    Registration::of::<crate::ps::PsOptions>(),
    Registration::of::<crate::cancel::CancelOptions>(),
    Registration::of::<crate::shell::ShellOptions>(),
    Registration::of::<crate::cp::CpOptions>(),
    Registration::of::<crate::chat::ChatOptions>(),
    Registration::of::<crate::mcp::McpOptions>(),
    Registration::of::<crate::completions::CompletionsOptions>(),
    Registration::of::<crate::doctor::DoctorOptions>(),
];
