//! Permission rules: which calls of tools are denied, asked about or allowed.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::{RuleEffect, RuleOrigin, RuleVerdict};

/// A permission rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RuleView {
    /// The id; null for a rule of the administrator, which the user cannot remove.
    #[serde(default)]
    #[schema(required)]
    pub id: Option<i64>,
    /// Who made the rule.
    pub origin: RuleOrigin,
    /// The rule's effect on the calls that match it.
    pub effect: RuleEffect,
    /// The rule as it was written, such as `Shell(git push *)`.
    pub rule: String,
    /// The reason that was given with it; may be empty.
    #[serde(default)]
    #[schema(required)]
    pub justification: String,
    /// Why it has no effect, or less than it seems to; may be empty.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub warnings: Vec<String>,
    /// When it was added, in Unix milliseconds; null for a rule of the administrator.
    #[serde(default)]
    #[schema(required)]
    pub created_at: Option<i64>,
    /// The number of calls that it decided; null for a rule of the administrator.
    #[serde(default)]
    #[schema(required)]
    pub hits: Option<i64>,
    /// When it last decided a call, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub last_hit_at: Option<i64>,
    /// The chat in which it applies; null for all chats.
    #[serde(default)]
    #[schema(required)]
    pub chat_id: Option<String>,
    /// The file of the workspace that contains it; null for other rules.
    #[serde(default)]
    #[schema(required)]
    pub file: Option<String>,
}

/// A rule to add.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NewRule {
    /// The rule's effect on the calls that match it.
    pub effect: RuleEffect,
    /// The rule, such as `Shell(git push *)`; at most 4 KiB.
    pub rule: String,
    /// The reason for it; at most 1 KiB.
    #[serde(default)]
    pub justification: Option<String>,
    /// The chat in which it is to apply; all chats if absent.
    #[serde(default)]
    pub chat_id: Option<String>,
}

/// A call to try the rules on; nothing is run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RuleTrial {
    /// The tool's name, such as `Shell` or `FileReplace`.
    pub tool: String,
    /// The command line, path or address that the call would have; at most 64 KiB.
    #[serde(default)]
    pub subject: String,
    /// The chat whose rules apply too, with those of its workspace; without a chat, the active runner's workspace counts.
    #[serde(default)]
    pub chat_id: Option<String>,
}

/// The result of trying the rules on a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RuleTrialView {
    /// The verdict of all rules together.
    pub verdict: RuleVerdict,
    /// The reason for it, in a sentence.
    #[serde(serialize_with = "crate::language::text")]
    pub reason: String,
    /// The rule that decided it, if one did.
    #[serde(default)]
    #[schema(required)]
    pub decided_by: Option<RuleMatchView>,
    /// The parts that the call was divided into, such as the commands of a command line.
    #[serde(default)]
    #[schema(required)]
    pub parts: Vec<RulePartView>,
}

/// A part of a call, and the rules that match it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RulePartView {
    /// The part in parsed form.
    pub text: String,
    /// The rules that match it, the strictest first.
    #[serde(default)]
    #[schema(required)]
    pub matches: Vec<RuleMatchView>,
}

/// A rule that matches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RuleMatchView {
    /// Who made the rule.
    pub origin: RuleOrigin,
    /// The rule's effect.
    pub effect: RuleEffect,
    /// The rule as it was written.
    pub rule: String,
}
