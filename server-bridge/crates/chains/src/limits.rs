//! Limits, with their units.

/// The maximum number of steps in a chain.
pub const STEPS_MAX: usize = 50;

/// The longest instruction of a step, in bytes.
pub const INSTRUCTION_MAX_BYTES: usize = 16 * 1024;

/// The longest handle of an agent, in characters.
pub const HANDLE_MAX_CHARS: usize = 32;

/// The maximum number of retries of a step.
pub const RETRIES_MAX: u32 = 5;

/// The maximum number of attempts at a step, including those that people ask for.
pub const ATTEMPTS_MAX: u32 = 20;

/// The shortest time limit of an attempt, in seconds.
pub const LIMIT_MIN_SECONDS: u64 = 10;

/// The longest time limit of an attempt, in seconds.
pub const LIMIT_MAX_SECONDS: u64 = 24 * 3600;

/// The time limit of an attempt at a step that states no limit, in seconds.
pub const LIMIT_SECONDS: u64 = 30 * 60;

/// The longest time that a budget can allow, in seconds: 30 days.
pub const BUDGET_MAX_SECONDS: u64 = 30 * 24 * 3600;

/// The maximum number of outputs of a step.
pub const OUTPUTS_MAX: usize = 20;

/// The longest path or pattern of an output, in bytes.
pub const OUTPUT_MAX_BYTES: usize = 1024;

/// The longest text form of a chain, in bytes.
pub const TEXT_MAX_BYTES: usize = 256 * 1024;

/// The longest request of a run, in bytes.
pub const REQUEST_MAX_BYTES: usize = 64 * 1024;

/// The maximum size of one earlier step's output in the text for a later step, in bytes.
pub const QUOTED_STEP_BYTES: usize = 32 * 1024;

/// The maximum total size of earlier steps' outputs in the text for a later step, in bytes; older outputs are cut first.
pub const QUOTED_BYTES: usize = 96 * 1024;
