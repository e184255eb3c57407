//! End-to-end tests: the built programs, talked to as people and programs talk to them.
#![allow(clippy::unwrap_used, missing_docs)]

mod agent;
mod agent_sessions;
mod agent_subagents;
mod agent_tasks;
mod agent_tools;
mod approvals;
mod attacks;
mod bad_input;
mod bombs;
mod bombs_at_defaults;
mod browser;
mod chat;
mod completions;
mod confinement;
mod context;
mod developer;
mod docker;
mod docker_engine;
mod docker_inside;
mod docker_limits;
mod docker_networks;
mod docker_own;
mod docker_runner;
mod docker_trouble;
mod doctor;
mod exec;
mod exec_attacks;
mod file_attacks;
mod files;
mod hostile_server;
mod install;
mod life;
mod listings;
mod load;
mod mcp;
mod mcp_server;
mod network;
mod numbers;

mod python;
mod resume;
mod routing;
mod run_as;
mod scripts;
mod shell;
mod strangers;
mod survivors;
#[path = "../../pathguard/tests/support/tar.rs"]
#[allow(dead_code)]
mod tar;
mod third_party;
mod tidy;
mod tui;
mod web_terminal;
mod xbot;
