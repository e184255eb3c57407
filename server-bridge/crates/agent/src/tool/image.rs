//! Images for models.
//!
//! An image that a provider rejects stays in the conversation and would make every later request fail, so an image is checked first: its
//! type by its own bytes, its size, and that it is complete.

use bytes::Bytes;
use llm::Content;
use sandbox::{Range, Sandbox};

use crate::limits::{IMAGE_BYTES, IMAGE_SIDE_PIXELS};

/// An image's type and dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Image {
    media_type: &'static str,
    width: u32,
    height: u32,
    /// True if the data contains the image's end.
    is_whole: bool,
}

/// A file as an image for the model; `None` if it is not a supported image or cannot be read.
pub async fn of_file(sandbox: &Sandbox, path: &str) -> Option<Content> {
    let mut reader = sandbox.read_file(path.as_bytes(), Range::default()).await.ok()?;
    if reader.size_bytes() > IMAGE_BYTES as u64 {
        return None;
    }
    let mut content = Vec::new();
    while let Some(piece) = reader.next().await {
        let is_beginning = content.is_empty();
        content.extend_from_slice(&piece.ok()?);
        // A file that is not an image need not be read completely.
        if content.len() > IMAGE_BYTES || is_beginning && look(&content).is_none() {
            return None;
        }
    }
    shown(&content)?.ok().map(|(_, image)| image)
}

/// An image for the model with a note about it; `None` if the content is not an image.
///
/// Fails with the reason why the image cannot be shown.
pub fn shown(content: &[u8]) -> Option<Result<(String, Content), String>> {
    let image = look(content)?;
    let Image { media_type, width, height, is_whole } = image;
    Some(if content.len() > IMAGE_BYTES {
        Err(format!("the image has {} bytes; the maximum is {IMAGE_BYTES}", content.len()))
    } else if width == 0 || height == 0 || !is_whole {
        Err(format!("the file begins like {media_type} but is damaged"))
    } else if width.max(height) > IMAGE_SIDE_PIXELS {
        Err(format!(
            "the image has {width}×{height} pixels; at most {IMAGE_SIDE_PIXELS} on each side can be shown"
        ))
    } else {
        let data = Bytes::copy_from_slice(content);
        let text = format!("{media_type}, {width}×{height} pixels, {} bytes", content.len());
        Ok((text, Content::Image { media_type: media_type.to_owned(), data }))
    })
}

fn look(content: &[u8]) -> Option<Image> {
    if content.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some(png(content));
    }
    if content.starts_with(b"\xff\xd8\xff") {
        return Some(jpeg(content));
    }
    if content.starts_with(b"GIF87a") || content.starts_with(b"GIF89a") {
        let side =
            |at| content.get(at..at + 2).map_or(0, |two| u32::from(u16::from_le_bytes([two[0], two[1]])));
        let is_whole = content.last() == Some(&0x3b);
        return Some(Image { media_type: "image/gif", width: side(6), height: side(8), is_whole });
    }
    (content.starts_with(b"RIFF") && content.get(8..12) == Some(b"WEBP")).then(|| webp(content))
}

fn png(content: &[u8]) -> Image {
    let side = |at: usize| match content.get(at..at + 4) {
        Some(&[a, b, c, d]) => u32::from_be_bytes([a, b, c, d]),
        _ => 0,
    };
    let is_whole = content.len() > 12 && content[content.len() - 8..].starts_with(b"IEND");
    Image { media_type: "image/png", width: side(16), height: side(20), is_whole }
}

/// Goes from segment to segment until the one with the dimensions.
fn jpeg(content: &[u8]) -> Image {
    // Some programs add a few bytes after the end.
    let tail = &content[content.len().saturating_sub(64)..];
    let is_whole = tail.windows(2).any(|two| two == [0xff, 0xd9]);
    let broken = Image { media_type: "image/jpeg", width: 0, height: 0, is_whole };
    let mut at = 2;
    while let Some(&[0xff, marker, high, low]) = content.get(at..at + 4) {
        let is_frame = (0xc0..=0xcf).contains(&marker) && ![0xc4, 0xc8, 0xcc].contains(&marker);
        if is_frame {
            let Some(&[a, b, c, d]) = content.get(at + 5..at + 9) else { return broken };
            let (height, width) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            return Image { width: width.into(), height: height.into(), ..broken };
        }
        // Padding is one byte; a segment's length is stored in the segment.
        at += if marker == 0xff { 1 } else { 2 + usize::from(u16::from_be_bytes([high, low])) };
    }
    broken
}

fn webp(content: &[u8]) -> Image {
    let byte = |at: usize| content.get(at).copied().map_or(0, u32::from);
    let two = |at: usize| byte(at) | byte(at + 1) << 8;
    let three = |at: usize| two(at) | byte(at + 2) << 16;
    let told_bytes = (two(4) | two(6) << 16) as usize;
    let (width, height) = match content.get(12..16) {
        Some(b"VP8X") => (three(24) + 1, three(27) + 1),
        Some(b"VP8 ") => (two(26) & 0x3fff, two(28) & 0x3fff),
        Some(b"VP8L") => {
            let bits = two(21) | two(23) << 16;
            ((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1)
        }
        _ => (0, 0),
    };
    Image { media_type: "image/webp", width, height, is_whole: told_bytes.saturating_add(8) <= content.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png_of(width: u32, height: u32) -> Vec<u8> {
        let header =
            [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], &width.to_be_bytes(), &height.to_be_bytes()].concat();
        [&header[..], b"\x08\x06\0\0\0crc_\0\0\0\0IEND\xaeB`\x82"].concat()
    }

    fn told(content: &[u8]) -> String {
        match shown(content) {
            None => "none".to_owned(),
            Some(Ok((text, Content::Image { media_type, data }))) => {
                assert!(text.starts_with(&media_type) && data == content);
                text
            }
            Some(Ok(_)) => panic!("no image"),
            Some(Err(why)) => why,
        }
    }

    #[test]
    fn images_are_known_by_their_own_bytes() {
        assert!(told(&png_of(3, 2)).starts_with("image/png, 3×2 pixels"));
        let gif = b"GIF89a\x03\0\x02\0\0\0\0;";
        assert!(told(gif).starts_with("image/gif, 3×2"));
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc0\0\x0b\x08\0\x02\0\x03\x01\x11\0\xff\xd9";
        assert!(told(jpeg).starts_with("image/jpeg, 3×2"), "{}", told(jpeg));
        let extended = b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x02\0\0\x01\0\0";
        assert!(told(extended).starts_with("image/webp, 3×2"), "{}", told(extended));
        let lossless = b"RIFF\x11\0\0\0WEBPVP8L\x05\0\0\0\x2f\x02\x40\0\0";
        assert!(told(lossless).starts_with("image/webp, 3×2"), "{}", told(lossless));
        for other in [&b""[..], b"text", b"%PDF-1.7", b"RIFF\0\0\0\0WAVE", b"\x7fELF"] {
            assert_eq!(told(other), "none");
        }
    }

    #[test]
    fn what_a_provider_would_not_take_is_told_instead() {
        for broken in [
            &png_of(3, 2)[..30],
            &b"GIF89a"[..],
            b"GIF89a\x03\0\x02\0\0\0\0",
            b"\xff\xd8\xff",
            b"\xff\xd8\xff\xe0\xff\xff\xff\xd9",
            b"RIFF\xff\xff\xff\xffWEBPVP8X\x0a\0\0\0\0\0\0\0\x02\0\0\x01\0\0",
            b"RIFF\x04\0\0\0WEBP",
        ] {
            assert!(told(broken).contains("damaged"), "{broken:?}: {}", told(broken));
        }
        assert!(told(&png_of(8_000, 1)).starts_with("image/png"));
        assert!(told(&png_of(8_001, 1)).contains("pixels; at most 8000 on each side"));
        let mut large = png_of(3, 2);
        large.resize(IMAGE_BYTES + 1, 0);
        assert!(told(&large).contains("the maximum is"));
        // Any content after a known beginning is handled.
        for beginning in [&b"\xff\xd8\xff"[..], b"GIF89a", b"RIFF\0\0\0\0WEBPVP8L", b"\x89PNG\r\n\x1a\n"] {
            for filler in [0_u8, 0xff, 0xc0] {
                for length in 0..80 {
                    let _ = shown(&[beginning, &vec![filler; length]].concat());
                }
            }
        }
    }
}
