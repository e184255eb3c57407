//! Every limit and timeout of extensions; those of hooks themselves are in crate `hooks`.

use std::time::Duration;

/// Limit on what is read of a document of hooks, in bytes: one more than is accepted.
pub const HOOK_FILE_BYTES: u64 = hooks::limits::DOCUMENT_BYTES as u64 + 1;
/// The largest number of paths of a workspace that are checked for the commands of one document.
pub const COVERED_PATHS: usize = 2_000;
/// The largest number of directories of a workspace below which the words of one command are checked.
pub const COVERED_DIRECTORIES: usize = 16;
/// The largest number of rounds in which words are checked below directories that were found: `cd a && cd b && ./c` needs three.
pub const COVERED_ROUNDS: usize = 4;
/// The number of paths of a workspace that are checked together.
pub const PATHS_AT_ONCE: usize = 64;
/// The longest question of a hook to a model, with the event, in bytes.
pub const HOOK_QUESTION_BYTES: usize = 64 * 1024;
/// How long a hook's command may run beyond its timeout, so that its machine can end it.
pub const HOOK_GRACE: Duration = Duration::from_secs(3);
/// How long the server looks for the hooks of a session that ends; after that, its chat is deleted.
pub const HOOK_SESSION_END_PATIENCE: Duration = Duration::from_secs(5);
/// How long the server waits for an abandoned command to end, before it leaves that to recovery.
pub const COMMAND_CANCEL_PATIENCE: Duration = Duration::from_secs(10);
/// The number of runs of hooks that are kept for each user's log.
pub const HOOK_RUNS_KEPT: usize = 200;
/// The number of users whose logs are kept.
pub const HOOK_LOGS_KEPT: usize = 1_000;
/// The number of chats for which the server remembers which once-only hooks have run.
pub const HOOK_SESSIONS_KEPT: usize = 10_000;
/// How much of a hook's action a log shows, in characters.
pub const HOOK_ACTION_CHARS: usize = 200;
/// The longest payload that a trial of hooks takes, in bytes.
pub const HOOK_TRIAL_PAYLOAD_BYTES: usize = 256 * 1024;
/// How much a trial shows of a handler's standard output and of its standard error, in bytes each.
pub const HOOK_TRIAL_OUTPUT_BYTES: usize = 16 * 1024;
/// The number of known secrets that payloads of hooks are searched for.
pub const HOOK_SECRETS: usize = 500;
/// How much of an event a hook writes to the server's log, in bytes.
pub const HOOK_LOGGED_BYTES: usize = 2 * 1024;
/// The number of hooks without room at their event that a chat names.
pub const HOOK_CROWDED_OUT_SHOWN: usize = 5;

/// The largest number of items that one question about trust shows and approves.
pub const TRUST_SHOWN: usize = 50;

/// The number of tools that a search finds if it does not specify a number.
pub const FOUND_DEFAULT: usize = 5;
/// The largest number of tools that one search finds.
pub const FOUND_MAX: usize = 20;
/// How much of a tool's description a search shows, in characters.
pub const FOUND_LINE_CHARS: usize = 200;
/// The largest number of services that the description of the search names.
pub const SERVICES_SHOWN: usize = 100;
/// The longest name of a service there, in characters.
pub const SERVICE_CHARS: usize = 64;
/// The largest number of unavailable services that a search names.
pub const MISSING_SHOWN: usize = 10;
/// The longest reason that a search shows for an unavailable service, in characters.
pub const MISSING_CHARS: usize = 300;

/// How much of a document of HTTP tools is read, in bytes: one more than is accepted.
pub const HTTP_TOOLS_FILE_BYTES: u64 = 256 * 1024 + 1;
/// The largest number of tools of one document of HTTP tools.
pub const HTTP_TOOLS_PER_FILE: usize = 200;
/// How much of a response of an HTTP tool's service is read, in bytes.
pub const HTTP_ANSWER_BYTES: usize = 1024 * 1024;
/// The longest text of a response that models get, in bytes; the rest is left out.
pub const HTTP_TOLD_BYTES: usize = 128 * 1024;
/// How long extracting a part of a response may take.
pub const HTTP_EXTRACT_PATIENCE: Duration = Duration::from_secs(5);
/// The largest number of responses to HTTP tools that are read at once; others wait for as long as extracting may take.
pub const HTTP_EXTRACTS_AT_ONCE: usize = 4;

/// How long a login to a service may take.
pub const SERVICE_LOGIN_PATIENCE: Duration = Duration::from_secs(600);
/// The largest number of logins to services that may be in progress on one Sandbridge server.
pub const SERVICE_LOGINS_PENDING: usize = 1_000;
/// How long a service may take to give a token.
pub const SERVICE_TOKEN_PATIENCE: Duration = Duration::from_secs(30);
/// The longest response of a service's token endpoint, in bytes.
pub const SERVICE_TOKEN_ANSWER_BYTES: usize = 64 * 1024;
/// The longest token of a service, in bytes; it is sent in a header.
pub const SERVICE_TOKEN_BYTES: usize = 8 * 1024;
/// How long before its expiry a token of a service is refreshed.
pub const SERVICE_TOKEN_MARGIN: Duration = Duration::from_secs(60);

/// How much of a document of MCP servers is read, in bytes: one more than is accepted.
pub const MCP_FILE_BYTES: u64 = 256 * 1024 + 1;
/// The longest name of an MCP server, in characters: the names of its tools begin with it, uncut.
pub const MCP_NAME_CHARS: usize = 32;
/// The longest name of a tool that providers accept, in characters.
pub const MCP_WIRE_NAME_CHARS: usize = 64;
/// The largest number of arguments, variables or headers of one server, and of servers in one document.
pub const MCP_WORDS: usize = 256;
/// The longest argument or variable, in bytes.
pub const MCP_WORD_BYTES: usize = 32 * 1024;
/// How long a call may take without a sign of progress, unless the server's definition says otherwise.
pub const MCP_CALL_PATIENCE: Duration = Duration::from_secs(300);
/// The longest such time that a definition may set.
pub const MCP_MAX_CALL_PATIENCE: Duration = Duration::from_secs(24 * 3600);
/// How long a call may take in total, not counting questions to its user, unless the definition sets a longer time.
pub const MCP_CALL_TOTAL: Duration = Duration::from_secs(3600);
/// The largest number of questions that a server may ask during one call.
pub const MCP_QUESTIONS_PER_CALL: usize = 16;
/// The largest number of rounds of input of one call.
pub const MCP_ROUNDS: usize = 16;
/// The pause before a task's state is requested, if its server does not name one.
pub const MCP_TASK_POLL: Duration = Duration::from_secs(1);
/// The shortest and the longest such pause.
pub const MCP_TASK_POLL_LIMITS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));
/// The largest number of times that a server may ask a model during one call.
pub const MCP_SAMPLES_PER_CALL: usize = 8;
/// The longest answer of a model to a server, in tokens.
pub const MCP_SAMPLE_TOKENS: u32 = 4096;
/// The longest request of a server to a model, in bytes: its user sees all of it.
pub const MCP_SAMPLE_BYTES: usize = 16 * 1024;
/// The largest number of messages in a server's request to a model.
pub const MCP_SAMPLE_MESSAGES: usize = 32;
/// How long a server may take to set its log level.
pub const MCP_LOG_LEVEL_PATIENCE: Duration = Duration::from_secs(5);
/// The largest number of resources of one connection that its user's agent can watch.
pub const MCP_WATCHED: usize = 100;
/// How long a call waits until the resources are watched again that the server no longer watches.
pub const MCP_WATCH_AGAIN_PATIENCE: Duration = Duration::from_secs(5);
/// How long a server may take to agree to report changed lists.
pub const MCP_LISTEN_PATIENCE: Duration = Duration::from_secs(30);
/// The shortest and the longest pause before it is asked again, after its reports ended or it did not agree.
pub const MCP_LISTEN_PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));
/// The longest report of progress that is shown, in bytes.
pub const MCP_PROGRESS_BYTES: usize = 1024;
/// The longest error text of a server that is passed on, in bytes.
pub const MCP_ERROR_BYTES: usize = 4 * 1024;
/// How long a server may take to start, all attempts included: a package may have to be downloaded first.
pub const MCP_CONNECT_PATIENCE: Duration = Duration::from_secs(60);
/// How long a server may take to list its tools, with all pages.
pub const MCP_LIST_PATIENCE: Duration = Duration::from_secs(30);
/// How long a turn waits for a server that has never listed its tools at the turn's place.
pub const MCP_FIRST_LISTING_PATIENCE: Duration = Duration::from_secs(10);
/// How long a failed connection is reported to its later callers before it is tried again.
pub const MCP_FAILURE_SHARED: Duration = Duration::from_secs(5);
/// A list of tools older than this is requested again before a call.
pub const MCP_LISTING_FRESH: Duration = Duration::from_secs(60);
/// A server that could not be asked, or that listed no tools, is asked again after this time.
pub const MCP_RETRY_AFTER: Duration = Duration::from_secs(300);
/// The largest number of servers that are remembered as not reachable.
pub const MCP_FAILURES_KEPT: usize = 10_000;
/// The largest number of pages of a list of tools.
pub const MCP_PAGES: usize = 100;
/// The longest icon of a server, in bytes of its `data:` URI; a longer one is not shown.
pub const MCP_ICON_BYTES: usize = 16 * 1024;
/// The largest number of tools of one server.
pub const MCP_TOOLS: usize = 2_000;
/// The longest name of a tool on its server, in bytes.
pub const MCP_TOOL_NAME_BYTES: usize = 256;
/// The longest description of a tool, in bytes; the rest is left out.
pub const MCP_TOOL_DESCRIPTION_BYTES: usize = 2 * 1024;
/// The longest instructions of a server for models, in bytes; the rest is left out.
pub const MCP_INSTRUCTIONS_BYTES: usize = 2 * 1024;
/// The largest total size of the instructions of servers in the result of one search, in bytes; those of further servers are left out.
pub const FOUND_INSTRUCTIONS_BYTES: usize = 8 * 1024;
/// The largest schema of a tool's arguments, in bytes.
pub const MCP_SCHEMA_BYTES: usize = 64 * 1024;
/// The largest nesting depth of a schema, in levels.
pub const SCHEMA_DEPTH: usize = 64;
/// How many times the server tries to record a listing while others are recorded in between.
pub const MCP_LISTING_TRIES: usize = 5;
/// The longest message of a server, in bytes.
pub const MCP_LINE_BYTES: usize = 8 * 1024 * 1024;
/// The largest number of a server's requests without an answer; a connection with more ends.
pub const MCP_REQUESTS_OPEN: usize = 32;
/// The largest question of a server to its user, and the largest request to their model, in bytes, with everything that
/// belongs to it.
pub const MCP_ASK_BYTES: usize = 64 * 1024;
/// The largest number of questions and requests of one connection without an answer; more are refused at once.
pub const MCP_ASKS_WAITING: usize = 2;
/// How long a server may take to read an answer.
pub const MCP_SEND_PATIENCE: Duration = Duration::from_secs(30);
/// The largest total size of the definitions of one server's tools, in bytes; the store keeps up to twice as much,
/// because changed definitions are kept too.
pub const MCP_TOOLS_BYTES: usize = 768 * 1024;
/// A definition that grows by more than this when it is indented is shown in one line.
pub const MCP_INDENT_FACTOR: usize = 4;
/// The number of messages of a program that may wait to be read.
pub const MCP_QUEUE: usize = 64;
/// The largest number of events of a server that wait to be handled during a call.
pub const MCP_EVENTS: usize = 64;
/// How much of the end of a program's standard error is kept, in bytes.
pub const MCP_STDERR_BYTES: usize = 2 * 1024;
/// How long a program may keep running after its input was closed.
pub const MCP_INPUT_CLOSED_PATIENCE: Duration = Duration::from_secs(2);
/// How long the server waits for a program to end, before it leaves that to the program's runner.
pub const MCP_END_PATIENCE: Duration = Duration::from_secs(10);
/// A connection that was not used for this long ends.
pub const MCP_IDLE: Duration = Duration::from_secs(30 * 60);
/// The interval at which idle connections are ended.
pub const MCP_SWEEP: Duration = Duration::from_secs(60);
/// The largest number of connections of one user.
pub const MCP_CONNECTIONS_PER_USER: usize = 20;
/// The largest number of prompts of one server.
pub const MCP_PROMPTS: usize = 100;
/// The longest name of a prompt or of one of its arguments, in characters.
pub const MCP_PROMPT_NAME_CHARS: usize = 64;
/// The largest number of arguments of a prompt.
pub const MCP_PROMPT_ARGUMENTS: usize = 16;
/// The longest text of a prompt, in bytes.
pub const MCP_PROMPT_BYTES: usize = 256 * 1024;
/// The longest line about a prompt, and the longest value that is suggested, in characters.
pub const MCP_ABOUT_CHARS: usize = 200;
/// The most resources, and the most templates of their addresses, that one list shows.
pub const MCP_RESOURCES: usize = 1_000;
/// The largest total size of the resources that one list shows, and of the templates, in bytes of JSON.
pub const MCP_RESOURCES_BYTES: usize = 1024 * 1024;
/// How long a server may take to list its templates, with all pages; after that, those that it has not listed are left out.
pub const MCP_TEMPLATES_PATIENCE: Duration = Duration::from_secs(10);
/// How long the suggestions for an argument of a prompt may take.
pub const MCP_COMPLETION_PATIENCE: Duration = Duration::from_secs(5);
/// The largest number of suggested values.
pub const MCP_COMPLETIONS: usize = 100;
/// The largest file of a skill, in bytes.
pub const MCP_SKILL_FILE_BYTES: usize = 1024 * 1024;
/// The largest number of files of a skill that are named.
pub const MCP_SKILL_FILES_NAMED: usize = 200;
/// The longest result of a call, in bytes; the rest is left out.
pub const MCP_RESULT_BYTES: usize = 1024 * 1024;
/// The largest number of images of one result.
pub const MCP_IMAGES: usize = 8;
/// The largest number of fields of a form that a server asks its user to fill in.
pub const MCP_FIELDS: usize = 20;
/// The largest number of a field's values that are offered to choose from; if there are more, the user types one.
pub const MCP_FIELD_CHOICES: usize = 8;
/// How many times the user is asked for a field while the values are not valid.
pub const MCP_FIELD_TRIES: usize = 3;
/// The longest text of a server in a question, in characters.
pub const MCP_QUESTION_CHARS: usize = 2_000;
/// How long a login to a server may take.
pub const MCP_LOGIN_PATIENCE: Duration = Duration::from_secs(600);
/// How long a login provider may take to answer.
pub const MCP_LOGIN_REQUEST_PATIENCE: Duration = Duration::from_secs(30);
/// How long before its expiry a token is refreshed.
pub const MCP_TOKEN_MARGIN: Duration = Duration::from_secs(30);
/// How long a client's assertion is valid.
pub const MCP_ASSERTION_LIFE: Duration = Duration::from_secs(300);
/// The longest response of a login provider, in bytes.
pub const MCP_LOGIN_ANSWER_BYTES: usize = 1024 * 1024;
/// The largest number of logins that may be in progress on one Sandbridge server.
pub const MCP_LOGINS_PENDING: usize = 1_000;

/// The largest number of custom tools of one workspace; models get the descriptions of all of them.
pub const CUSTOM_TOOLS: usize = 32;
/// The longest name of a custom tool, in characters; models call it with a prefix.
pub const CUSTOM_TOOL_NAME_CHARS: usize = 48;
/// How long a custom tool may take to describe itself.
pub const CUSTOM_TOOL_DESCRIBE_PATIENCE: Duration = Duration::from_secs(10);
/// The longest description of a custom tool, in bytes; models get all of it.
pub const CUSTOM_TOOL_DESCRIPTION_BYTES: usize = 16 * 1024;
/// A custom tool that failed to describe itself is asked again after this time.
pub const CUSTOM_TOOL_RETRY_AFTER: Duration = Duration::from_secs(60);
/// The number of descriptions of custom tools that are remembered.
pub const CUSTOM_TOOLS_DESCRIBED: usize = 10_000;
/// How long a call of a custom tool may take, unless its description says otherwise.
pub const CUSTOM_TOOL_PATIENCE: Duration = Duration::from_secs(120);
/// The longest such time that a description may set.
pub const CUSTOM_TOOL_MAX_PATIENCE: Duration = Duration::from_secs(600);
/// How much of a custom tool's output a model gets, in bytes; the same amount is read of its standard error.
pub const CUSTOM_TOOL_RESULT_BYTES: usize = 256 * 1024;
/// How much of the end of its standard error is shown, in bytes.
pub const CUSTOM_TOOL_STDERR_SHOWN_BYTES: usize = 4 * 1024;
/// The number of pieces of a custom tool's output that may wait to be shown.
pub const CUSTOM_TOOL_LIVE_PIECES: usize = 64;
/// The largest total size of the files of one approval that are kept to show later changes, in bytes; if there is more,
/// they are not kept.
pub const TRUST_FILES_BYTES: usize = 64 * 1024;
/// The longest line about a slash command, in characters.
pub const COMMAND_ABOUT_CHARS: usize = 200;
/// The largest total size of the skills that always apply in a prompt, in bytes.
pub const ALWAYS_SKILLS_BYTES: usize = 32 * 1024;
/// The number of chats for which the server remembers that a notice about missing approvals was shown.
pub const TRUST_CHATS_KEPT: usize = 10_000;

/// How long each request for a plugin may take.
pub const PLUGIN_FETCH_PATIENCE: Duration = Duration::from_secs(60);
/// The largest archive of a plugin, in bytes.
pub const PLUGIN_ARCHIVE_BYTES: usize = plugins::limits::ARCHIVE_BYTES;
/// The largest number of names in the path of a repository: its groups, one in another, and its own.
pub const REPOSITORY_GROUPS: usize = 21;
/// The largest number of plugins of all users that are kept in parsed form, without the content of their files.
pub const PLUGINS_READ: usize = 1_000;
/// The number of a plugin's files that are compared or written on a machine at the same time.
pub const PLUGIN_FILES_AT_ONCE: usize = 32;
/// The number of plugins that are compared or copied on a machine at the same time.
pub const PLUGINS_COPIED_AT_ONCE: usize = 2;
/// The largest number of changed files that are named.
pub const PLUGIN_CHANGES_SHOWN: usize = 50;
/// How long a server that is reached through a runner may take to begin a response; a runner waits no longer than this. A server that reports
/// progress begins its response at once.
pub const MCP_VIA_PATIENCE: Duration = Duration::from_secs(600);

/// The largest number of lines of the server's log that one call shows.
pub const LOG_LINES_SHOWN: usize = 500;
/// The number of lines of the server's log that one call shows by default.
pub const LOG_LINES_UNLESS_TOLD: usize = 100;
/// The largest total size of the log lines that one call shows, in bytes.
pub const LOG_RESULT_BYTES: usize = 64 * 1024;

/// The time limit for finding out which programs and variables that skills need are missing on a machine.
pub const NEEDS_PATIENCE: Duration = Duration::from_secs(10);
/// How long the result of a look-up of programs and variables is kept.
pub const NEEDS_REMEMBERED: Duration = Duration::from_secs(300);
/// The largest number of results of look-ups that are remembered.
pub const NEEDS_KEPT: usize = 1_000;
/// The largest number of programs, and of variables, that one look-up checks.
pub const NEEDS_LOOKED_UP: usize = 200;
/// How much of a look-up's output is read, in bytes.
pub const NEEDS_OUTPUT_BYTES: usize = 64 * 1024;
