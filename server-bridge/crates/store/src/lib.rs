//! The server's database: users, sessions, runners and their tokens, settings, chats, messages, execs, audit.
//!
//! One [`Store`] contains all of it, in one SQLite file by default, or in a PostgreSQL database; both run the same statements. Several processes may
//! have the same file open: `sandbridge user add` works while the server runs. Everything that belongs to a user is requested with that user's
//! [`UserId`], and another user's data is treated as missing. Secrets are stored as hashes, except for those that have to be read again, such as
//! providers' keys, which are sealed. Times are Unix milliseconds, from a [`Clock`].
//!
//! | module | contents |
//! |---|---|
//! | `users`, `passwords` | accounts; password hashing with argon2id |
//! | `sessions` | logins |
//! | `keys` | keys of programs, and their scopes |
//! | `runners` | registered machines, their tokens, rotation, revocation, epochs |
//! | `enrolment` | one-use tokens for new machines |
//! | `settings` | one value per user and key; the active runner |
//! | `server_settings` | one value per key, for the whole server |
//! | `chats`, `messages` | conversations |
//! | `turns` | the input and output of a model |
//! | `streamed` | the text of answers in progress |
//! | `context` | the layers over a conversation for its model: summaries, masks, edits |
//! | `offloads` | long results of tools, and the files they come from |
//! | `subscriptions`, `usage` | users' own models; the usage of models |
//! | `seal`, `sealing` | secrets that have to be read again, and the encryption key |
//! | `checkpoints` | files as they were before a turn changed them |
//! | `undo`, `fork` | undone turns; copies of conversations |
//! | `approvals` | the approval mode and permissions of a chat |
//! | `permission_rules` | the tool calls that are denied, asked about or allowed |
//! | `trouble` | the problems that administrators are notified of |
//! | `hook_documents`, `trusts` | a user's own hooks; the parts of a workspace that a user approved |
//! | `mcp_servers` | a user's own MCP servers, and the tools that each server listed |
//! | `plugins`, `marketplaces` | the plugins that users installed or share; the lists of plugins that they added |
//! | `http_tools` | a user's own HTTP tools |
//! | `jobs`, `job_runs` | automations and their runs |
//! | `groups` | groups of people and agents: logs, calls, chains |
//! | `channels` | chats reached from messengers: accounts, links, incoming and outgoing messages |
//! | `knowledge` | collections of documents, their passages and vectors, and the queue of documents to index |
//! | `blobs` | long values of rows as objects in a bucket |
//! | `batches` | long changes, divided into batches |
//! | `own` | the common code for a user's own definitions with sealed secrets: MCP servers and HTTP tools |
//! | `oauth_grants` | tokens of the providers of MCP servers |
//! | `asks` | questions to people, answered once |
//! | `todos` | the task list of a chat's model |
//! | `search`, `chat_search` | finding messages, and conversations |
//! | `message_index` | the full-text index of messages |
//! | `login_addresses` | the addresses from which users logged in |
//! | `one_time`, `attempts` | secrets that work once; counts of failed logins |
//! | `sends` | messages that a client may repeat |
//! | `sub_agents` | the conversations of sub-agents |
//! | `delegations`, `background` | the turns of sub-agents that a call waits for, and those that no call waits for |
//! | `mailbox` | messages to sub-agents that are running in the background |
//! | `memorised` | the memory text in each chat's prompt, and the chats from which memories were proposed |
//! | `memory_items` | memories of users, and of their agents in groups; the lines in conversations that show them |
//! | `execs`, `exec_ends` | commands: started once per id and request, ended once |
//! | `backup` | copies of the database |
//! | `deleted` | traces of deleted rows in SQLite's files |
//! | `copy` | copying a whole database to another one |
//! | `location` | the location of a database, as its operator writes it |
//! | `hold` | the right of one server, or of nodes, to use a PostgreSQL database |
//! | `nodes`, `homes`, `membership` | servers that share a database; the node that works for each user; this process as a node |
//! | `away` | when the database was last found unreachable |
//! | `patience` | waiting for an unreachable database |
//! | `audit` | who did what, where, and how it ended |
//! | `tokens`, `name`, `clock` | small types that all of them use, in addition to those of crate `records` |
//! | `database` | the file or the server, its connections, whose changes take turns, and the schema's steps (`migrations/`, `migrations-postgres/`) |
//! | `sql` | statements, their arguments and rows, for both databases |
//! | [`limits`] | every limit and lifetime |
//!
//! To add a table, write a numbered file in `migrations/` and its counterpart in `migrations-postgres/`, a module next to these, and its `impl
//! Store`.
//! Then run `SANDBRIDGE_BLESS=1 cargo nextest run --workspace a_new_database_has_the_schema`: it writes `schema.sql`, from which new
//! SQLite databases are created.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod approvals;
mod asks;
mod attempts;
mod audit;
mod away;
mod background;
mod backup;
mod batches;
mod blobs;
mod channels;
mod chat_search;
mod chats;
mod checkpoints;
mod clock;
mod context;
mod copy;
mod database;
mod delegations;
mod deleted;
mod enrolment;
mod error;
mod exec_ends;
mod execs;
mod fork;
mod groups;
mod hold;
mod homes;
mod hook_documents;
mod http_tools;
mod job_runs;
mod jobs;
mod keys;
mod knowledge;
pub mod limits;
mod location;
mod login_addresses;
mod mailbox;
mod marketplaces;
mod mcp_servers;
mod membership;
mod memorised;
mod memory_items;
mod memory_vectors;
mod message_index;
mod messages;
mod name;
mod nodes;
mod oauth_grants;
mod offloads;
mod one_time;
mod own;
mod pages;
mod passwords;
mod patience;
mod permission_rules;
mod plugins;
mod resumes;
mod runners;
mod seal;
mod sealing;
mod search;
mod sends;
mod server_settings;
mod sessions;
mod settings;
mod sql;
mod streamed;
mod sub_agents;
mod subscriptions;
#[cfg(test)]
mod testing;
mod todos;
mod tokens;
mod trouble;
mod trusts;
mod turns;
mod undo;
mod usage;
mod users;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

pub use self::search::{FoundMessage, MessageRank, MessageSearch};
pub use approvals::ApprovalRule;
pub use asks::{AskAnswered, GivenAnswer};
pub use attempts::Bucket;
pub use audit::{AuditEntry, AuditRecord, AuditSearch};
pub use background::BackgroundTurn;
pub use backup::check_backup;
pub use channels::{
    ChannelAccount, ChannelAnswer, ChannelBinding, ChannelDraft, ChannelEvent, ChannelLane, ChannelLink,
    EndedQuestion, EntryToShow, HeldConversation, InboxState, NewAnswer, NewEvent, NewOutgoing, NewPress,
    NoticeLink, OpenAsk, OrphanDraft, OutState, OutboxCounts, Outgoing, Person, Press, Redeemed, ShownDraft,
    ShownLog, TakenEvents, draft_source,
};
pub use chat_search::{ChatSearch, FoundChat};
pub use chats::Chat;
pub use checkpoints::{Before, Checkpoint, Kept, Left};
pub use clock::Clock;
pub use context::MaskedItem;
pub use copy::{Copied, copy};
pub use database::PoolUse;
pub use delegations::{CalledSubAgent, CalledTurn, NewBackground, NewDelegation};
pub use enrolment::Enrolment;
pub use error::{Error, Result};
pub use exec_ends::{EXEC_CORRECTED, ExecEnd, ExecEnded, ShownEnd};
pub use execs::{Exec, ExecKind, ExecOutcome, ExecRequest, ExecStart, ExecStatus};
pub use groups::{
    Access, AgentDraft, AgentMessage, Asker, Asks, CallEnd, CallMode, CallState, ChainBase, ChainRun,
    EntryKind, GateRow, GrantMode, Group, GroupAgent, GroupCall, GroupChain, GroupEntry, GroupGrant,
    GroupPerson, HandOver, HandedOver, NewCall, NewEntry, NewGate, NewHandOver, NewRunOfChain, Passed,
    RunEnd,
};
pub use hold::{Hold, HoldNews};
pub use homes::Claim;
pub use http_tools::HttpTool;
pub use job_runs::{ASKED_SLOT, DueRun, JobRun, NewRun, RunChat, RunOfTurn, RunState, run_send_id};
pub use jobs::{Job, JobDraft, JobKind};
pub use keys::{ApiKey, KeyScope};
pub use knowledge::{
    BarePassage, Collection, Document, DocumentState, EmbeddingModel, FileSeen, IndexJob, IndexQueue, Lane,
    NewPage, NewPassage, NewWords, OutdatedDocument, Page, Passage, PassagePlace, PassageVector, Published,
    Ranked, SearchScope, Sharing, SyncState, WordsQuery,
};
pub use location::{Location, PostgresUrl};
pub use mailbox::{BackgroundMessage, Sent};
pub use marketplaces::MarketplaceRow;
pub use mcp_servers::{McpCatalogue, McpServer};
pub use membership::{Claimer, Membership, NodeId};
pub use memorised::{AgentRequest, QUOTATION};
pub use memory_items::{
    MemoryChange, MemoryHolder, MemoryItem, MemoryKind, MemoryReplacement, MemoryRevision, MemoryScope,
    MemorySource, NewMemory, OwnAgent, marked_from, memory_mark,
};
pub use memory_vectors::BareMemory;
pub use messages::{Author, Message, MessageRole};
pub use name::{Name, RunnerName};
pub use nodes::{NewNode, Node, NodeState, PeerNode, Renewal};
pub use offloads::{Offload, OffloadedRead};
pub use one_time::{NewOneTime, OneTimeKind};
pub use patience::{patiently, until_done};
pub use permission_rules::{PermissionRule, RuleEffect};
pub use plugins::{PluginFile, PluginRow, SharedPlugin};
pub use records::{
    AuditId, BegunCall, ChatId, ChunkId, CollectionId, Compaction, ContextEdit, DocumentId, ExecId, ItemId,
    JobId, KeyId, Mask, MessageId, NewCompaction, PromptCount, RunnerId, Spent, StoredContext, SubAgent,
    TurnId, TurnItem, TurnStatus, TurnUsage, User, UserId, hex, is_unseen, unhex,
};
pub use resumes::{OpenTurn, RecordedItem, TurnRecord};
pub use runners::{NewToken, Runner, RunnerAuth};
pub use seal::EncryptionKey;
pub use sealing::{LostKeys, SealedWith, Unlocked};
pub use sends::{KnownSend, Said};
pub use sessions::{NewSession, Session};
pub use settings::{ACTIVE_RUNNER, APPROVAL, LANGUAGE};
pub use sql::REFUSED_FENCES;
pub use streamed::Streamed;
pub use sub_agents::NewSubAgent;
pub use subscriptions::{CHOSEN_MODEL, KeyChange, Subscription};
pub use todos::{Todo, TodoStatus};
pub use tokens::{
    API_KEY_PREFIX, ENROLMENT_TOKEN_PREFIX, RUNNER_TOKEN_PREFIX, SESSION_COOKIE_PREFIX, SESSION_TOKEN_PREFIX,
    Secret,
};
pub use trouble::Trouble;
pub use trusts::Trust;
pub use undo::PastTurn;
pub use usage::UsageRow;

/// A handle to the server's database. Cheap to clone; all clones use the same database.
#[derive(Clone, Debug)]
pub struct Store {
    database: database::Database,
    passwords: passwords::Passwords,
    clock: Clock,
    /// Seals and opens secrets; `None` until the store is unlocked.
    sealer: Option<seal::Sealer>,
    /// The bucket for long values; `None` if all values are in the database.
    blobs: Option<s3::Bucket>,
    /// Wakes the task that removes the traces of deleted rows.
    deletion: Arc<Notify>,
}

impl Store {
    /// Opens the database file at `path`, creates it (mode 0600) if it is missing, and brings its schema up to date. Keys of
    /// models can be neither stored nor read until it is unlocked ([`Store::unlock`]).
    ///
    /// # Errors
    /// [`Error::Open`] if the file cannot be created or opened, [`Error::NewerSchema`] if a newer version has written it,
    /// [`Error::Migration`] and [`Error::Database`] if it is not a database or fails.
    pub async fn open(path: &Path) -> Result<Self> {
        Ok(Self::with(database::Database::open(path).await?, None))
    }

    /// Connects to the PostgreSQL database at `url` (`postgres://user:password@host/database`) and brings its schema up to date. As
    /// with [`Store::open`], keys of models can be neither stored nor read until it is unlocked.
    ///
    /// # Errors
    /// [`Error::DatabaseUrl`] if the address is invalid or the database there cannot be used, [`Error::Unreachable`] if the server
    /// does not answer, [`Error::NewerSchema`], [`Error::Migration`] and [`Error::Database`].
    pub async fn connect(url: &str) -> Result<Self> {
        Self::connect_within(url, None).await
    }

    /// Opens the database at its location, as [`Store::open`] or [`Store::connect`].
    ///
    /// # Errors
    /// As for these two functions; [`Error::Moved`] if the database was copied to another one, which has replaced it.
    pub async fn at(location: &Location) -> Result<Self> {
        let store = match location {
            Location::File(path) => Self::open(path).await?,
            Location::Postgres(url) => {
                Self::connect_within(url.expose(), Some(limits::SERVER_STAND_STILL)).await?
            }
        };
        store.unless_moved().await
    }

    /// Opens a PostgreSQL database as [`Store::at`] does, for a node.
    ///
    /// # Errors
    /// As for [`Store::at`]; [`Error::NodeVersion`] if a live node's program cannot work with the same database as this one.
    pub async fn at_as_node(url: &PostgresUrl) -> Result<Self> {
        Self::connect_within(url.expose(), Some(limits::NODE_STAND_STILL)).await?.unless_moved().await
    }

    /// As [`Store::connect`]; PostgreSQL ends a change that is idle for `stand_still`.
    async fn connect_within(url: &str, stand_still: Option<Duration>) -> Result<Self> {
        Ok(Self::with(database::Database::connect(url, stand_still).await?, None))
    }

    async fn unless_moved(self) -> Result<Self> {
        match self.moved_to().await? {
            Some(to) => Err(Error::Moved { to }),
            None => Ok(self),
        }
    }

    /// Turns this store into that of a node: each change is made only while the node is the home of the user whose data it changes.
    #[must_use]
    pub fn of_node(mut self, node: Arc<Membership>) -> Self {
        self.database = self.database.of_node(node);
        self
    }

    /// An empty store in memory, which is deleted with its last clone. For tests.
    ///
    /// # Errors
    /// [`Error::Migration`] and [`Error::Database`].
    pub async fn open_in_memory() -> Result<Self> {
        Ok(Self::with(database::Database::open_in_memory().await?, Some(seal::Sealer::random())))
    }

    /// The same store with another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// The time by the store's clock, in Unix milliseconds.
    pub fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// The usage of the connections to the database, by purpose.
    pub fn pools(&self) -> Vec<PoolUse> {
        self.database.pools()
    }

    /// Waits for statements in progress and closes the database. Later calls on any clone fail.
    pub async fn close(&self) {
        self.database.close().await;
    }

    fn with(database: database::Database, sealer: Option<seal::Sealer>) -> Self {
        let (passwords, clock) = (passwords::Passwords::new(), Clock::system());
        Self { database, passwords, clock, sealer, blobs: None, deletion: Arc::default() }
    }
}
