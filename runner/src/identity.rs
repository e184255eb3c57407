//! The identity that this runner registers with.

use proto::BootId;
use proto::handshake::{
    ENROLMENT_CAPABILITY, Facts, HASH_TREE_CAPABILITY, HTTP_CAPABILITY, Layer, RESOLVE_CAPABILITY,
    RUN_AS_CAPABILITY, Register, UPDATE_CAPABILITY, VersionRange, WORKTREE_CAPABILITY,
};

use crate::executor::Executor;
use crate::kill::KillTier;
use crate::layers::{LayerReport, Profile, layer_name};

/// Capabilities that the server can count on beyond the requests themselves.
const CAPABILITIES: &[&str] = &[
    "exec",
    "files",
    "resume",
    ENROLMENT_CAPABILITY,
    RESOLVE_CAPABILITY,
    HTTP_CAPABILITY,
    WORKTREE_CAPABILITY,
    HASH_TREE_CAPABILITY,
];

/// The capability of a runner that has an LLM endpoint.
const LLM: &str = "llm";

/// This runner's identity, for as long as its process lives.
#[derive(Debug, Clone)]
pub struct Identity {
    workspace: String,
    shell: String,
    llm_provider: &'static str,
    llm_model: String,
    facts: Facts,
}

impl Identity {
    /// Collects the details of an executor and the machine.
    pub fn of(executor: &Executor, name: Option<&str>, tier: KillTier) -> Self {
        let machine = rustix::system::uname();
        let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
        let report = executor.report();
        let layers = report.layers.iter().map(|layer| Layer {
            name: layer.name.to_owned(),
            holds: layer.holds,
            detail: layer.detail.clone(),
        });
        let llm = executor.llm.config();
        let run_as = executor.host.knows_users().then(|| executor.host.command_users());
        let capabilities = CAPABILITIES.iter().chain(llm.map(|_| &LLM));
        let capabilities = capabilities.chain(run_as.as_ref().map(|_| &RUN_AS_CAPABILITY));
        let can_update = executor.updates.get().is_some_and(|updates| updates.are_offered());
        let capabilities = capabilities.chain(can_update.then_some(&UPDATE_CAPABILITY));
        let facts = Facts {
            protocol: VersionRange::OURS,
            runner_id: name.unwrap_or_default().to_owned(),
            boot_id: BootId(rand::random()),
            os: text(machine.sysname()).to_lowercase(),
            arch: text(machine.machine()),
            hostname: text(machine.nodename()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            profile: executor.profile().to_string(),
            capabilities: capabilities.map(|name| (*name).to_owned()).collect(),
            landlock_abi: report.landlock_abi(),
            kill_tier: tier.as_str().to_owned(),
            layers: layers.collect(),
            run_as,
            update_error: None,
        };
        let workspace = executor.host.workspace().to_string_lossy().into_owned();
        Self {
            workspace,
            shell: executor.host.shell().to_owned(),
            llm_provider: llm.map_or("", |llm| llm.provider.name()),
            llm_model: llm.map_or_else(String::new, |llm| llm.model.clone()),
            facts,
        }
    }

    /// The registration with a token; without one if the link itself proves the identity.
    pub fn register(&self, token: &str) -> Register {
        Register {
            user_id: String::new(),
            auth_token: token.to_owned(),
            workspace: self.workspace.clone(),
            shell: self.shell.clone(),
            llm_provider: self.llm_provider.to_owned(),
            llm_model: self.llm_model.clone(),
            sandbridge: Some(self.facts.clone()),
        }
    }
}

/// One line about the confinement of commands.
pub fn summary(profile: Profile, report: &LayerReport) -> String {
    let holding = report.layers.iter().filter(|layer| layer.holds).map(|layer| match layer.name {
        layer_name::LANDLOCK => format!("landlock ABI {}", report.landlock_abi()),
        name => name.to_owned(),
    });
    let holding: Vec<_> = holding.collect();
    format!(
        "profile {profile}; {}",
        if holding.is_empty() { "nothing confined".to_owned() } else { holding.join(", ") }
    )
}

/// Warnings for the person who started the runner, about the layers that are not enforced.
pub fn warnings(profile: Profile, report: &LayerReport) -> Vec<String> {
    if profile == Profile::FullControl {
        return vec!["commands are not confined: the profile is full-control".to_owned()];
    }
    report.missing().map(|layer| format!("{} is not enforced: {}", layer.name, layer.detail)).collect()
}
