//! Limits, with their units.
//!
//! Labels, options and buttons are limited to what the most restrictive messenger accepts: Slack's labels have 75 characters, Discord's rows
//! hold 25 buttons.

/// The largest card, in bytes of all its texts together: less than Feishu's 30 KiB of JSON.
pub const CARD_MAX_BYTES: usize = 16 * 1024;
/// The maximum number of blocks of a card.
pub const BLOCKS_MAX: usize = 30;
/// The maximum number of parts of one block.
pub const PARTS_MAX: usize = 20;
/// The longest title and heading, in bytes.
pub const TITLE_MAX_BYTES: usize = 150;
/// The longest text, in bytes.
pub const TEXT_MAX_BYTES: usize = 8 * 1024;
/// The maximum number of fields of one part.
pub const FIELDS_MAX: usize = 25;
/// The longest name and the longest value of a field, and the longest cell of a table, in bytes.
pub const FIELD_MAX_BYTES: usize = 1000;
/// The maximum number of columns of a table.
pub const COLUMNS_MAX: usize = 10;
/// The maximum number of rows of a table.
pub const ROWS_MAX: usize = 50;
/// The longest address of a link, in bytes.
pub const URL_MAX_BYTES: usize = 2048;
/// The maximum number of buttons of a card.
pub const BUTTONS_MAX: usize = 10;
/// The maximum number of fields and choices of a card.
pub const INPUTS_MAX: usize = 10;
/// The maximum number of options of a choice.
pub const OPTIONS_MAX: usize = 25;
/// The longest label, option and placeholder, in bytes.
pub const LABEL_MAX_BYTES: usize = 75;
/// The longest name of a button, a field or a choice, in bytes.
pub const NAME_MAX_BYTES: usize = 32;
/// The longest value that a person gives, in bytes.
pub const VALUE_MAX_BYTES: usize = 4 * 1024;
