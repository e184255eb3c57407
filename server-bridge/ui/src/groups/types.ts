/** The types of groups and chains, under the names that their views use; see `../types`. */
import type { Schemas } from "../api/client";

export type Group = Schemas["GroupView"];
export type GroupAgent = Schemas["GroupAgent"];
export type AgentPut = Schemas["GroupAgentPut"];
export type Template = Schemas["AgentTemplate"];
export type Workspace = Schemas["AgentWorkspace"];
export type WorkspaceFile = Schemas["WorkspaceFileView"];
export type WorkspaceText = Schemas["WorkspaceFile"];
export const ACCESSES = ["owner", "editor", "member", "reader"] as const satisfies Schemas["GroupAccess"][];
export type Access = (typeof ACCESSES)[number];
export const GRANT_MODES = ["ask", "own"] as const satisfies Schemas["GrantMode"][];
export type GrantMode = (typeof GRANT_MODES)[number];
export type Entry = Schemas["GroupEntry"];
export type Entries = Schemas["GroupEntries"];
export type Call = Schemas["GroupCall"];
export type Posted = Schemas["GroupPosted"];
export type Conversation = Schemas["ChannelBindingView"];
export type Chain = Schemas["ChainView"];
export type ChainTemplate = Schemas["ChainTemplate"];
export type ChainDraft = Schemas["ChainDraft"];
export type Budget = Schemas["ChainBudget"];
export type Step = Schemas["ChainStep"];
export type ChainPut = Schemas["ChainPut"];
export type ChainText = Schemas["ChainText"];
export type ChainTextAsk = Schemas["ChainTextAsk"];
export type Run = Schemas["ChainRunView"];
export type RunStep = Schemas["ChainStepView"];
export type Gate = Schemas["GateView"];
export type GateReply = Schemas["GateReply"];

/** True if a person with this access may do what `needed` includes. */
export function includes(access: Access, needed: Access): boolean {
  return ACCESSES.indexOf(access) <= ACCESSES.indexOf(needed);
}
