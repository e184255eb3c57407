//! Functions of 32-bit numbers, written so that the compiler can process several at once.

use std::f32::consts::{FRAC_1_SQRT_2, LN_2, LOG2_E};

/// The number of partial sums, so that an addition does not wait for the one before it.
const LANES: usize = 8;

/// `e^x` for `x` at most 88, to a relative error of 1e-5 (3e-7 near 0); nearly 0 below -87.
#[inline]
pub(crate) fn exp(x: f32) -> f32 {
    // e^x = 2^n · 2^f with n whole and f in -0.5..0.5.
    let scaled = x.max(-87.0) * LOG2_E;
    let rounded = scaled + MAGIC;
    let fraction = scaled - (rounded - MAGIC);
    // The Taylor series of 2^f: ln(2)^k / k!.
    let mut power = 1.540_353_1e-4f32;
    for coefficient in [1.333_355_8e-3, 9.618_129e-3, 5.550_411e-2, 0.240_226_5, LN_2, 1.0] {
        power = power * fraction + coefficient;
    }
    // The integer part is in the lowest bits of `rounded`, and becomes the exponent.
    f32::from_bits(power.to_bits().wrapping_add(rounded.to_bits() << 23))
}

/// Added to a number below 2^22, this leaves the nearest whole number in the lowest bits.
pub(crate) const MAGIC: f32 = 12_582_912.0;

/// The Gaussian error linear unit, with the error function of Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964), 7.1.26: an
/// error of 1.5e-7.
#[inline]
pub(crate) fn gelu(x: f32) -> f32 {
    let z = x.abs() * FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let mut series = 1.061_405_4f32;
    for coefficient in [-1.453_152, 1.421_413_7, -0.284_496_74, 0.254_829_6] {
        series = series * t + coefficient;
    }
    let tail = series * t * exp(-z * z);
    // 0.5 · x · (1 + erf(x / √2)), where erf is odd.
    0.5 * (x + x.abs() * (1.0 - tail))
}

/// The sum of the products of two rows.
#[inline]
fn dot(one: &[f32], other: &[f32]) -> f32 {
    let mut sums = [0.0f32; LANES];
    let (one, _) = one.as_chunks::<LANES>();
    let (other, _) = other.as_chunks::<LANES>();
    for (one, other) in one.iter().zip(other) {
        for lane in 0..LANES {
            sums[lane] += one[lane] * other[lane];
        }
    }
    sums.iter().sum()
}

/// Gives each row the mean 0 and the variance 1, and then the scale and the offset of each column.
pub(crate) fn layer_norm(rows: &mut [f32], scale: &[f32], offset: &[f32]) {
    #[expect(clippy::cast_precision_loss, reason = "a row has 384 numbers")]
    let width = scale.len() as f32;
    let ones = vec![1.0f32; scale.len()];
    for row in rows.chunks_exact_mut(scale.len()) {
        let mean = dot(row, &ones) / width;
        for value in row.iter_mut() {
            *value -= mean;
        }
        let inverse = 1.0 / (dot(row, row) / width + 1e-12).sqrt();
        for ((value, scale), offset) in row.iter_mut().zip(scale).zip(offset) {
            *value = *value * inverse * scale + offset;
        }
    }
}

/// Gives a vector the length 1; one of length 0 stays as it is.
pub(crate) fn normalize(vector: &mut [f32]) {
    let length = dot(vector, vector).sqrt();
    if length > 0.0 {
        for value in vector {
            *value /= length;
        }
    }
}

/// The largest result of `of` for the numbers, whose count must be a multiple of eight.
#[inline]
pub(crate) fn largest(values: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut largest = [f32::MIN; LANES];
    let (values, rest) = values.as_chunks::<LANES>();
    debug_assert!(rest.is_empty());
    for values in values {
        for lane in 0..LANES {
            let value = of(values[lane]);
            // Unlike `f32::max`, this is one instruction.
            largest[lane] = if value > largest[lane] { value } else { largest[lane] };
        }
    }
    largest.into_iter().fold(f32::MIN, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_and_gelu_are_those_of_double_precision() {
        for step in -8700..=2000 {
            let x = step as f32 / 100.0;
            let exact = f64::from(x).exp();
            let bound = if x.abs() < 1.0 { 4e-7 } else { 1e-5 };
            assert!((f64::from(exp(x)) - exact).abs() <= bound * exact, "exp({x})");
        }
        assert!(exp(f32::NEG_INFINITY) < 1e-37);
        // Φ(x), computed by adding up the density.
        let mut integral = 0.5f64;
        let width = 1e-4;
        for step in 0..60_000 {
            let at = f64::from(step) * width;
            if step % 100 == 0 {
                for (x, phi) in [(at, integral), (-at, 1.0 - integral)] {
                    assert!((f64::from(gelu(x as f32)) - x * phi).abs() < 2e-6, "gelu({x})");
                }
            }
            let middle = at + width / 2.0;
            integral += width * (-middle * middle / 2.0).exp() / std::f64::consts::TAU.sqrt();
        }
    }

    #[test]
    fn a_normalized_row_has_mean_zero_and_variance_one() {
        let mut row: Vec<f32> = (0..16).map(|at| (at * at % 7) as f32).collect();
        layer_norm(&mut row, &[2.0; 16], &[1.0; 16]);
        let mean = row.iter().sum::<f32>() / 16.0;
        let variance = row.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / 16.0;
        assert!((mean - 1.0).abs() < 1e-5 && (variance - 4.0).abs() < 1e-4);
        let mut zero = [0.0; 8];
        normalize(&mut zero);
        assert_eq!(zero, [0.0; 8]);
    }
}
