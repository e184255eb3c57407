//! The numbers in the specification of the agent's engine: one table of the constants that define them, each with a test at
//! its boundary.

use std::fs;
use std::path::Path;

/// The location of each constant, its definition, and the name of a test for it.
const NUMBERS: &[(&str, &str, &str)] = &[
    // Requests to a model.
    (LLM, "RETRY_ATTEMPTS: u32 = 5;", "pauses_double_up_to_their_limit_and_end_with_the_attempts"),
    (
        LLM,
        "RETRY_PAUSE: Duration = Duration::from_secs(1);",
        "pauses_double_up_to_their_limit_and_end_with_the_attempts",
    ),
    (
        LLM,
        "RETRY_PAUSE_LIMIT: Duration = Duration::from_secs(30);",
        "pauses_double_up_to_their_limit_and_end_with_the_attempts",
    ),
    (LLM, "RATE_LIMIT_DOUBLINGS: u32 = 4;", "a_rate_limit_is_given_more_time"),
    (
        LLM,
        "ATTEMPT_TIMEOUT: Duration = Duration::from_secs(120);",
        "an_attempt_ends_after_120_s_without_a_sign_of_life",
    ),
    (
        LLM,
        "ATTEMPT_LIMIT: Duration = Duration::from_secs(600);",
        "an_answer_that_never_ends_ends_after_600_s",
    ),
    (LLM, "SHARED_CALLS: usize = 5;", "a_tenant_waits_for_its_own_calls_and_for_nobody_elses"),
    (LLM, "PERSONAL_CALLS: usize = 3;", "a_tenant_waits_for_its_own_calls_and_for_nobody_elses"),
    (LLM, "SUB_AGENT_CALLS: usize = 3;", "a_tenant_waits_for_its_own_calls_and_for_nobody_elses"),
    // Turns. The specification allows 3 at the same time, for one person.
    (AGENT, "TURNS_AT_ONCE: usize = 16;", "so_many_answers_are_under_way_in_all_and_the_next_one_waits"),
    (AGENT, "SHARED_TURNS: usize = 4;", "one_user_leaves_room_on_the_servers_model_for_the_others"),
    (
        AGENT,
        "PERSONAL_TURNS: usize = 1;",
        "a_user_with_a_model_of_their_own_has_one_answer_at_a_time_and_keeps_nobody_waiting",
    ),
    (CHATS, "TURNS_QUEUED: usize = 32;", "a_queue_holds_32_and_a_place_that_is_not_filled_is_free_again"),
    (
        AGENT,
        "TURN_ITERATIONS: usize = 100;",
        "a_model_that_never_ends_is_stopped_after_its_rounds_and_may_go_on",
    ),
    (AGENT, "TOOLS_AT_ONCE: usize = 8;", "reads_go_side_by_side_eight_at_most_and_writes_stand_between_them"),
    (AGENT, "SUB_AGENTS_AT_ONCE: usize = 3;", "sub_agents_of_one_answer_work_at_once_three_at_a_time"),
    (
        AGENT,
        "SUB_AGENT_DEPTH: usize = 3;",
        "sub_agents_go_three_deep_and_the_last_ones_have_no_tool_for_more",
    ),
    // Tools.
    (CHATS, "COMMAND_TIMEOUT_S: u64 = 120;", "every_end_has_its_state"),
    (
        CHATS,
        "OUTPUT_WHOLE_MAX_CHARS: usize = 4_000;",
        "a_long_output_is_kept_whole_and_shown_as_head_and_tail",
    ),
    (TOOLS, "SHELL_TIMEOUT_S: u64 = 120;", "a_command_has_120_seconds_unless_it_asks_for_others_up_to_600"),
    (
        TOOLS,
        "SHELL_TIMEOUT_MAX_S: u64 = 600;",
        "a_command_has_120_seconds_unless_it_asks_for_others_up_to_600",
    ),
    (TOOLS, "CANCEL_PROMISE: std::time::Duration = std::time::Duration::from_secs(1);", CANCEL),
    (TOOLS, "SHELL_CANCEL_GRACE: std::time::Duration = std::time::Duration::from_millis(500);", CANCEL),
    (
        TOOLS,
        "TASK_LIFETIME_S: u64 = 24 * 60 * 60;",
        "a_command_and_the_task_that_it_becomes_may_run_for_24_hours",
    ),
    (TOOLS, "TASK_TAIL_BYTES: u32 = 50_000 - TASK_HEAD_BYTES;", "a_task_is_read_whole_up_to_50_000_bytes"),
    (
        CHATS,
        "SUB_AGENT_IDLE_MS: i64 = 30 * 60 * 1_000;",
        "a_sub_agent_that_has_a_name_waits_for_30_minutes_and_no_longer",
    ),
    // Contents that are shown to a model.
    (AGENT, "OFFLOAD_TOKENS: usize = 2_000;", "a_result_is_long_beyond_its_bytes_or_its_tokens"),
    (AGENT, "OFFLOAD_BYTES: usize = 10_240;", "a_result_is_long_beyond_its_bytes_or_its_tokens"),
    (TOOLS, "RECALL_CHARS: usize = 16_000;", "a_page_has_16_000_characters_at_most"),
    (AGENT, "MASK_AT_PERCENT: usize = 60;", "the_fuller_the_window_the_fewer_groups_keep_their_results"),
    (
        AGENT,
        "MASKED_GROUPS_KEPT: (usize, [(usize, usize); 3]) = (3, [(70, 12), (80, 8), (90, 5)]);",
        "the_fuller_the_window_the_fewer_groups_keep_their_results",
    ),
    (AGENT, "ACTIVE_GROUPS: usize = 3;", "short_results_and_those_of_files_that_are_worked_on_stay"),
    (STORE, "MASKS_KEPT: usize = 200;", "masks_are_forgotten_beyond_200"),
    (
        STORE,
        "MASKS_KEPT_CHARS: i64 = 2_000_000;",
        "masks_are_forgotten_beyond_two_million_characters_and_those_a_summary_names_last",
    ),
    (
        AGENT,
        "COMPRESS_AT_PERCENT: usize = 75;",
        "it_is_due_at_75_percent_and_not_within_five_rounds_of_the_last_time",
    ),
    (
        AGENT,
        "COMPRESS_COOL_DOWN_ROUNDS: usize = 5;",
        "it_is_due_at_75_percent_and_not_within_five_rounds_of_the_last_time",
    ),
    (AGENT, "COMPRESS_SAVES_PERCENT: i64 = 5;", "what_saves_less_than_5_percent_is_not_worth_it"),
    (
        AGENT,
        "EDIT_PROTECTED_MESSAGES: usize = 3;",
        "the_last_three_messages_and_what_is_not_there_cannot_be_edited",
    ),
];

const CANCEL: &str = "a_cancelled_command_is_killed_after_half_a_second_and_waited_for_less_than_one";
const AGENT: &str = "server-bridge/crates/agent/src/limits.rs";
const CHATS: &str = "server-bridge/crates/chats/src/limits.rs";
const TOOLS: &str = "server-bridge/crates/tools/src/limits.rs";
const LLM: &str = "server-bridge/crates/llm/src/limits.rs";
const STORE: &str = "server-bridge/crates/store/src/limits.rs";

#[test]
fn each_number_of_the_engine_is_a_constant_with_a_test_at_its_boundary() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let tests = sources(&[&root.join("server-bridge"), &root.join("tests")]);
    for (file, constant, test) in NUMBERS {
        let limits = fs::read_to_string(root.join(file)).unwrap();
        assert!(limits.contains(&format!("pub const {constant}")), "{file} does not contain {constant}");
        assert!(tests.contains(&format!("fn {test}()")), "there is no test {test} for {constant}");
    }
}

/// All Rust sources below these directories, without build output.
fn sources(directories: &[&Path]) -> String {
    let mut text = String::new();
    let mut open: Vec<_> = directories.iter().map(|path| path.to_path_buf()).collect();
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let is_built = ["target", "node_modules"].iter().any(|name| path.ends_with(name));
            if entry.file_type().unwrap().is_dir() && !is_built {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                text.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }
    text
}
