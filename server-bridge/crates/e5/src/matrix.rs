//! Products of matrices with weights of 4 bits and activations of 16 bits.
//!
//! A matrix stays packed in memory, in blocks of 32 weights of 4 bits with a scale. A product expands eight rows at a time to integers of
//! at most [`WEIGHT_MAX`], and multiplies them with all tokens. Activations are integers too, with one scale per token, chosen so that no
//! sum of products exceeds 32 bits.

use wide::{i16x8, i32x4};

use crate::math::{MAGIC, largest};

/// The number of weights in a block.
pub(crate) const BLOCK: usize = 32;

/// The size of a block in bytes: the scale as a 16-bit float, and two weights per byte. Byte `j` has weight `j` in its low half and
/// `j + 16` in its high one.
pub(crate) const BLOCK_BYTES: usize = 2 + BLOCK / 2;

/// The offset of the weights in the file, which stores no negative numbers.
const WEIGHT_OFFSET: i16 = 8;

/// The largest factor of a block, relative to the largest scale of its row.
const FACTOR_MAX: f32 = 127.0;

/// The largest expanded weight: -8 · 127.
const WEIGHT_MAX: usize = 8 * 127;

/// The number of rows that are expanded and multiplied together: their sums fit into the processor's registers.
const ROWS: usize = 8;

/// The number of values in a register.
const LANES: usize = 8;

/// A matrix of `outputs` rows and `inputs` columns, and a bias for each row.
pub(crate) struct Matrix {
    inputs: usize,
    outputs: usize,
    /// `inputs / 32` blocks per row, without their scales: value `l` of a block contains, from its lowest bits, the weights `l`, `l + 8`,
    /// `l + 16` and `l + 24`.
    weights: Vec<i16x8>,
    /// The factor of each block: its scale relative to the row's scale.
    factors: Vec<i16>,
    /// The scale of each row.
    scales: Vec<f32>,
    bias: Vec<f32>,
}

/// Activations as integers.
pub(crate) struct Activations {
    inputs: usize,
    values: Vec<i16x8>,
    /// The scale of each token.
    scales: Vec<f32>,
}

impl Activations {
    /// Converts rows of `inputs` numbers, one row per token.
    pub(crate) fn new(rows: &[f32], inputs: usize) -> Self {
        // So small that a sum of products stays below 2^31 for all weights, and that each number fits into 16 bits.
        let most = (i32::MAX as usize / (WEIGHT_MAX * inputs)).min(i16::MAX as usize);
        #[expect(clippy::cast_precision_loss, reason = "at most 32,767")]
        let most = most as f32;
        let mut values = Vec::with_capacity(rows.len() / LANES);
        let mut scales = Vec::with_capacity(rows.len() / inputs);
        for row in rows.chunks_exact(inputs) {
            let largest = largest(row, f32::abs);
            let inverse = if largest > 0.0 { most / largest } else { 0.0 };
            scales.push(largest / most);
            let (row, _) = row.as_chunks::<LANES>();
            values.extend(row.iter().map(|row| i16x8::new(row.map(|value| rounded(value * inverse)))));
        }
        Self { inputs, values, scales }
    }
}

/// The nearest integer of a number below 2^15.
#[inline]
fn rounded(value: f32) -> i16 {
    #[expect(clippy::cast_possible_truncation, reason = "the lowest bits are the number")]
    let bits = (value + MAGIC).to_bits() as i16;
    bits
}

impl Matrix {
    /// A matrix from blocks in the file's format. `None` if their count does not fit the matrix, or a scale is not a number.
    pub(crate) fn new(blocks: &[u8], bias: Vec<f32>, inputs: usize) -> Option<Self> {
        let outputs = bias.len();
        let (blocks, rest) = blocks.as_chunks::<BLOCK_BYTES>();
        let per_row = inputs / BLOCK;
        if !rest.is_empty() || blocks.len() != per_row * outputs || !outputs.is_multiple_of(ROWS) {
            return None;
        }
        let (mut weights, mut factors) = (Vec::with_capacity(blocks.len()), Vec::with_capacity(blocks.len()));
        let mut scales = Vec::with_capacity(outputs);
        for row in blocks.chunks_exact(per_row) {
            let largest = row.iter().map(|block| scale(block).abs()).fold(0.0, f32::max);
            if !row.iter().all(|block| scale(block).is_finite()) {
                return None;
            }
            let unit = largest / FACTOR_MAX;
            scales.push(unit);
            for block in row {
                weights.push(packed(block.last_chunk()?));
                factors.push(if unit > 0.0 { rounded(scale(block) / unit) } else { 0 });
            }
        }
        Some(Self { inputs, outputs, weights, factors, scales, bias })
    }

    /// Multiplies all tokens with the matrix, adds the bias, and writes the result into rows of `width` numbers, from column `at` on.
    pub(crate) fn multiply(&self, activations: &Activations, out: &mut [f32], width: usize, at: usize) {
        assert_eq!(activations.inputs, self.inputs, "the activations of another matrix");
        let columns = self.inputs / LANES;
        let mut expanded = vec![[i16x8::ZERO; ROWS]; columns];
        for first in (0..self.outputs).step_by(ROWS) {
            self.expand(first, &mut expanded);
            let (scales, bias) = (&self.scales[first..first + ROWS], &self.bias[first..first + ROWS]);
            let tokens = activations.values.chunks_exact(columns).zip(&activations.scales);
            for ((token, token_scale), row) in tokens.zip(out.chunks_exact_mut(width)) {
                let sums = products(&expanded, token);
                let row = &mut row[at + first..at + first + ROWS];
                for lane in 0..ROWS {
                    #[expect(
                        clippy::cast_precision_loss,
                        reason = "the error is smaller than that of the weights"
                    )]
                    let sum = sums[lane] as f32;
                    row[lane] = sum * (scales[lane] * token_scale) + bias[lane];
                }
            }
        }
    }

    /// Eight rows as integers: for each eight columns, the weights of the first row, then those of the second row, and so on.
    fn expand(&self, first: usize, expanded: &mut [[i16x8; ROWS]]) {
        let per_row = self.inputs / BLOCK;
        for row in 0..ROWS {
            let blocks = (first + row) * per_row..(first + row + 1) * per_row;
            let blocks = self.weights[blocks.clone()].iter().zip(&self.factors[blocks]);
            for ((&block, &factor), columns) in blocks.zip(expanded.as_chunks_mut::<{ BLOCK / LANES }>().0) {
                let expanded = |weights: i16x8| {
                    ((weights & i16x8::splat(15)) - i16x8::splat(WEIGHT_OFFSET)) * i16x8::splat(factor)
                };
                columns[0][row] = expanded(block);
                columns[1][row] = expanded(block >> 4);
                columns[2][row] = expanded(block >> 8);
                columns[3][row] = expanded(block >> 12);
            }
        }
    }
}

/// A block of the file in the order in which it is expanded.
fn packed(bytes: &[u8; BLOCK / 2]) -> i16x8 {
    i16x8::new(std::array::from_fn(|lane| {
        let (first, second) = (bytes[lane], bytes[lane + LANES]);
        i16::from_le_bytes([first & 15 | second << 4, first >> 4 | second & 0xF0])
    }))
}

/// The products of one token with eight rows.
#[inline]
fn products(rows: &[[i16x8; ROWS]], token: &[i16x8]) -> [i32; ROWS] {
    let mut sums = [i32x4::ZERO; ROWS];
    for (rows, values) in rows.iter().zip(token) {
        for (sum, row) in sums.iter_mut().zip(rows) {
            *sum += row.dot(*values);
        }
    }
    sums.map(|sum| sum.to_array().iter().sum())
}

/// Adds a row of a matrix in the file's format to `out`: one token's embedding.
pub(crate) fn add_row(blocks: &[[u8; BLOCK_BYTES]], out: &mut [f32]) {
    for (block, out) in blocks.iter().zip(out.chunks_exact_mut(BLOCK)) {
        let scale = scale(block);
        let (low, high) = out.split_at_mut(BLOCK / 2);
        for ((byte, low), high) in block[2..].iter().zip(low).zip(high) {
            *low += f32::from(i16::from(byte & 15) - WEIGHT_OFFSET) * scale;
            *high += f32::from(i16::from(byte >> 4) - WEIGHT_OFFSET) * scale;
        }
    }
}

/// The scale of a block in the file: a float of 16 bits.
pub(crate) fn scale(block: &[u8; BLOCK_BYTES]) -> f32 {
    let bits = u32::from(u16::from_le_bytes([block[0], block[1]]));
    let (sign, exponent, fraction) = ((bits & 0x8000) << 16, bits >> 10 & 0x1F, bits & 0x3FF);
    #[expect(clippy::cast_precision_loss, reason = "10 bits")]
    match exponent {
        0 => f32::from_bits(sign | (fraction as f32 * f32::from_bits(0x3380_0000)).to_bits()),
        0x1F => f32::from_bits(sign | 0x7F80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(value: f32) -> [u8; 2] {
        // This works for a normal number whose fraction has at most 10 bits.
        let bits = value.to_bits();
        let half = (bits >> 16 & 0x8000) | ((bits >> 23 & 0xFF) - 112) << 10 | (bits >> 13 & 0x3FF);
        u16::try_from(half).unwrap().to_le_bytes()
    }

    #[test]
    fn scales_are_floats_of_16_bits() {
        let of = |bits: u16| {
            let mut block = [0; BLOCK_BYTES];
            block[..2].copy_from_slice(&bits.to_le_bytes());
            scale(&block)
        };
        assert_eq!(
            [of(0x3C00), of(0xC000), of(0x7BFF), of(0), of(1)],
            [1.0, -2.0, 65504.0, 0.0, 2f32.powi(-24)]
        );
        assert!(of(0x7C00).is_infinite() && of(0x7E00).is_nan());
    }

    #[test]
    fn a_product_is_that_of_the_weights_in_the_file() {
        let (inputs, outputs) = (1536, 16);
        let mut seed = 1u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as u32
        };
        let mut blocks = Vec::new();
        for _ in 0..outputs * inputs / BLOCK {
            blocks.extend(half(0.5 + (next() % 512) as f32 / 1024.0));
            blocks.extend((0..16).map(|_| next() as u8));
        }
        let bias: Vec<f32> = (0..outputs).map(|row| row as f32).collect();
        let matrix = Matrix::new(&blocks, bias.clone(), inputs).unwrap();
        let rows: Vec<f32> = (0..3 * inputs).map(|_| (next() % 2001) as f32 / 1000.0 - 1.0).collect();
        let mut out = vec![f32::NAN; 3 * 20];
        matrix.multiply(&Activations::new(&rows, inputs), &mut out, 20, 4);
        let weights: Vec<Vec<f32>> = blocks
            .as_chunks::<BLOCK_BYTES>()
            .0
            .chunks_exact(inputs / BLOCK)
            .map(|row| {
                let mut weights = vec![0.0; inputs];
                add_row(row, &mut weights);
                weights
            })
            .collect();
        for (token, row) in rows.chunks_exact(inputs).enumerate() {
            for (output, weights) in weights.iter().enumerate() {
                let exact: f32 =
                    weights.iter().zip(row).map(|(weight, value)| weight * value).sum::<f32>() + bias[output];
                let found = out[token * 20 + 4 + output];
                assert!((found - exact).abs() < 1.5, "{found} is not {exact}");
            }
        }
        assert!(out[..4].iter().all(|value| value.is_nan()), "before the matrix's columns");
    }

    #[test]
    fn the_largest_weights_and_activations_stay_within_32_bits() {
        for inputs in [384, 1536] {
            let block: Vec<u8> = half(1.0).into_iter().chain([0; 16]).collect();
            let matrix = Matrix::new(&block.repeat(8 * inputs / BLOCK), vec![0.0; 8], inputs).unwrap();
            let mut out = [0.0; 8];
            matrix.multiply(&Activations::new(&vec![1.0; inputs], inputs), &mut out, 8, 0);
            assert!((out[0] / (inputs as f32 * -8.0) - 1.0).abs() < 1e-3, "{}", out[0]);
        }
    }

    #[test]
    fn blocks_of_another_size_and_scales_that_are_no_numbers_are_refused() {
        let block: Vec<u8> = half(1.0).into_iter().chain([7; 16]).collect();
        assert!(Matrix::new(&block.repeat(7), vec![0.0; 8], 32).is_none());
        assert!(Matrix::new(&block.repeat(8)[1..], vec![0.0; 8], 32).is_none());
        let mut infinite = block.repeat(8);
        infinite[..2].copy_from_slice(&0x7C00u16.to_le_bytes());
        assert!(Matrix::new(&infinite, vec![0.0; 8], 32).is_none());
        assert!(Matrix::new(&block.repeat(8), vec![0.0; 8], 32).is_some());
    }
}
