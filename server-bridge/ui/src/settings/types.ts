/** The types that only the settings and the first run need, under the names that they use; see `../types`. */
import type { Schemas } from "../api/client";

export type Preferences = Schemas["PreferencesView"];

/** A server that shares the database. */
export type Node = Schemas["NodeView"];
export type NodeState = Schemas["NodeState"];

/** A kind of tool call that is always allowed in a chat. */
export type ApprovalRule = Schemas["ApprovalRuleView"];

export const RULE_EFFECTS = ["deny", "ask", "allow"] as const satisfies Schemas["RuleEffect"][];
export type RuleEffect = (typeof RULE_EFFECTS)[number];
/** A rule that is checked before the approval mode. */
export type PermissionRule = Schemas["RuleView"];
export type RuleTrialResult = Schemas["RuleTrialView"];

export const MEMORY_KINDS = ["semantic", "episodic", "procedural", "core"] as const satisfies Schemas["MemoryKind"][];
export type MemoryKind = (typeof MEMORY_KINDS)[number];
export const MEMORY_MODES = ["typed", "letta", "flat"] as const satisfies Schemas["MemoryMode"][];
/** The blocks of core memory. */
export const CORE_BLOCKS = ["persona", "user", "project"] as const;
/** A memory, or a proposal of one. */
export type Memory = Schemas["MemoryView"];
export type NewMemory = Schemas["NewMemory"];
export type MemorySettings = Schemas["MemorySettingsView"];

/** A problem with a file, a plugin or a machine. */
export type FoundProblem = Schemas["Problem"];
/** The items of a workspace that need the user's approval, and all approvals that the user gave. */
export type TrustList = Schemas["TrustList"];
export type TrustItem = Schemas["TrustItem"];
export type TrustApproval = Schemas["TrustApproval"];
/** The hooks that apply to the user, and problems with their files. */
export type HookList = Schemas["HookList"];
export type Hook = Schemas["HookView"];
/** A function of the server that hooks may call. */
export type Callback = Schemas["CallbackView"];
export type HookRun = Schemas["HookRunView"];
/** The result of a trial of a hook; its decision was not applied. */
export type HookTried = Schemas["HookTrialView"];

/** An HTTP tool, and the results of an import and of a trial. */
export type HttpTool = Schemas["HttpToolView"];
export type HttpToolImport = Schemas["HttpToolImport"];
export type HttpToolImported = Schemas["HttpToolImported"];
export type HttpToolTried = Schemas["HttpToolTried"];
/** An MCP server, with the tools that it listed on a place. */
export type McpServer = Schemas["McpServerView"];
export type McpTool = Schemas["McpToolView"];
export type McpInstructions = Schemas["McpInstructions"];
/** The definition of a server, as an entry of `mcpServers` in `.mcp.json`. */
export type McpServerEntry = Schemas["McpServerEntry"];

/** A collection of documents, its documents, and the results of searches. */
export type Collection = Schemas["CollectionView"];
export type CollectionDraft = Schemas["CollectionDraft"];
export type KnowledgeDocument = Schemas["DocumentView"];
export type KnowledgePage = Schemas["DocumentPage"];
export type FoundPassages = Schemas["Found"];

/** A plugin, installed or inspected. */
export type Plugin = Schemas["PluginView"];
export type PluginPart = Schemas["PluginPart"];
/** A plugin to inspect or to install. */
export type NewPlugin = Schemas["NewPlugin"];
/** A marketplace that the user added, a plugin in it, and a plugin that a user of the server shares. */
export type Marketplace = Schemas["MarketplaceView"];
export type MarketplacePlugin = Schemas["MarketplacePlugin"];
export type ShelfPlugin = Schemas["ShelfPlugin"];

/** An automation, and its runs. */
export type Automation = Schemas["AutomationView"];
export type AutomationDraft = Schemas["AutomationDraft"];
export type AutomationPut = Schemas["AutomationPut"];
export type AutomationSaved = Schemas["AutomationSaved"];
export type AutomationRun = Schemas["AutomationRun"];

/** An account on a messenger. */
export type Channel = Schemas["ChannelView"];
export type ChannelKind = Schemas["ChannelKind"];
export type ChannelPut = Schemas["ChannelPut"];
export type ChannelLink = Schemas["ChannelLinkView"];
export type ChannelLogin = Schemas["ChannelLoginView"];
export type ChannelCode = Schemas["ChannelCode"];
export type ChannelTested = Schemas["ChannelTested"];

export const TIERS = ["vanguard", "balance", "swift"] as const;
export type Tier = (typeof TIERS)[number];

export type TierModel = Schemas["ModelDocument"];
/** A provider and its models; its key is never sent. */
export type Subscription = Schemas["SubscriptionView"];
export type Provider = Subscription["provider"];
/** A subscription as sent to the server; without `api_key` the key is kept, an empty one deletes it. */
export type SubscriptionDocument = Schemas["SubscriptionDocument"];
/** A provider's address and key while a subscription is being entered. */
export type ProviderDocument = Schemas["ProviderDocument"];
export type ModelList = Schemas["ModelList"];
export type Trial = Schemas["TrialView"];

export type UsageSum = Schemas["Sum"];
export type UsageReport = Schemas["UsageView"];

export const KEY_SCOPES = ["exec", "read", "full"] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];
export type ApiKey = Schemas["KeyView"];
/** A new key with its secret, which is shown once. */
export type MadeKey = Schemas["MadeKey"];

export type ServerSettingsChange = Schemas["ServerSettingsChange"];
export const CONTEXT_MODES = ["full", "no-compression", "none"] as const satisfies Schemas["ServerSettings"]["context_mode"][];

export type Container = Schemas["ContainerView"];
export type User = Schemas["AccountView"];
export type AuditEntry = Schemas["AuditView"];
