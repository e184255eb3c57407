//! Every limit of this crate, and the dimensions of the model. A file with other dimensions is refused.

/// The number of dimensions of a vector.
pub const DIMENSIONS: usize = 384;

/// The number of layers of the encoder.
pub const LAYERS: usize = 12;

/// The number of attention heads of a layer.
pub const HEADS: usize = 12;

/// The number of dimensions of a head's part of a vector.
pub const HEAD_DIMENSIONS: usize = DIMENSIONS / HEADS;

/// The number of values between the two matrices of a feed-forward network.
pub const INNER_DIMENSIONS: usize = 1536;

/// The number of token positions that the model knows.
pub const POSITIONS: usize = 512;

/// The number of tokens of a text in one window: all positions except those of the marks of start and end.
pub const WINDOW_TOKENS: usize = POSITIONS - 2;

/// How much of a text is embedded, in bytes: more than the largest passage.
pub const TEXT_BYTES: usize = 16 * 1024;

/// The maximum number of pieces of the vocabulary in a file. The model has 250,002.
pub const PIECES: usize = 1 << 19;

/// The longest text of all pieces in a file, in bytes. The model has 2.6 MB.
pub const PIECE_BYTES: usize = 16 << 20;

/// The longest table of normalization in a file, in bytes. The model has 51 KB.
pub const NORMALIZATION_BYTES: usize = 1 << 20;

/// The maximum number of tensors in a file. The model has 197.
pub const TENSORS: usize = 1024;
