//! Limits, with their units.

/// The most steps of a chain.
pub const STEPS_MAX: usize = 50;

/// The most bytes of a step's instruction.
pub const INSTRUCTION_MAX_BYTES: usize = 16 * 1024;

/// The longest handle of an agent, in characters.
pub const HANDLE_MAX_CHARS: usize = 32;

/// The most retries of a step.
pub const RETRIES_MAX: u32 = 5;

/// The most attempts at a step, those that people ask for included.
pub const ATTEMPTS_MAX: u32 = 20;

/// The shortest time for an attempt, in seconds.
pub const LIMIT_MIN_SECONDS: u64 = 10;

/// The longest time for an attempt, in seconds.
pub const LIMIT_MAX_SECONDS: u64 = 24 * 3600;

/// The time for an attempt where a step names none, in seconds.
pub const LIMIT_SECONDS: u64 = 30 * 60;

/// The longest time that a budget may name, in seconds: 30 days.
pub const BUDGET_MAX_SECONDS: u64 = 30 * 24 * 3600;

/// The most outputs of a step.
pub const OUTPUTS_MAX: usize = 20;

/// The most bytes of an output's path or pattern.
pub const OUTPUT_MAX_BYTES: usize = 1024;

/// The most bytes of a chain as text.
pub const TEXT_MAX_BYTES: usize = 256 * 1024;

/// The most bytes that the request may have.
pub const REQUEST_MAX_BYTES: usize = 64 * 1024;

/// The most bytes of one earlier step's output in the text of a later step.
pub const QUOTED_STEP_BYTES: usize = 32 * 1024;

/// The most bytes of all of them; older ones are cut first.
pub const QUOTED_BYTES: usize = 96 * 1024;
