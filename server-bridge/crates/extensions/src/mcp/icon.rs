//! The icon of a server: a picture that the server itself sent.
//!
//! An icon that has an address instead is not shown: whoever runs that address would learn who looks at the settings, and when.

use agent::tool::image;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use llm::Content;
use rmcp::model::Icon;

use crate::limits::MCP_ICON_BYTES;

/// The first icon that can be shown, as a `data:` URI.
pub(super) fn of(icons: &[Icon]) -> Option<String> {
    icons.iter().find_map(|icon| picture(&icon.src))
}

/// The picture in a `data:` URI, with the type that its own bytes have. An SVG picture is none: it may run and load what it names.
fn picture(source: &str) -> Option<String> {
    if source.len() > MCP_ICON_BYTES {
        return None;
    }
    let (_, encoded) = source.strip_prefix("data:")?.split_once(";base64,")?;
    match image::shown(&STANDARD.decode(encoded).ok()?)?.ok()? {
        (_, Content::Image { media_type, .. }) => Some(format!("data:{media_type};base64,{encoded}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A red pixel, as PNG.
    const PIXEL: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";

    #[test]
    fn the_first_icon_that_needs_no_address_is_shown() {
        let of = |sources: &[&str]| of(&sources.iter().map(|source| Icon::new(*source)).collect::<Vec<_>>());
        let pixel = format!("data:image/png;base64,{PIXEL}");
        assert_eq!(of(&["https://icons.example/a.png", &pixel]).as_deref(), Some(&pixel[..]));
        // The bytes decide, whatever the server calls them.
        assert_eq!(of(&[&pixel.replace("image/png", "text/html")]).as_deref(), Some(&pixel[..]));
        let long = format!("data:image/png;base64,{}", "A".repeat(MCP_ICON_BYTES));
        let cut = &pixel[..pixel.len() - 40];
        for refused in [
            "",
            "javascript:alert(1)",
            "data:image/svg+xml;base64,PHN2Zy8+",
            "data:text/html;base64,PGI+",
            "data:image/png,raw",
            "data:image/png;base64,",
            "data:image/png;base64,a\"onload=x",
            cut,
            &long,
        ] {
            assert_eq!(of(&[refused]), None, "{refused}");
        }
    }
}
