//! The icon of a server: a picture that the server itself sent.
//!
//! An icon that has an address instead is not shown: whoever runs that address would learn who looks at the settings, and when.

use rmcp::model::Icon;

use crate::limits::MCP_ICON_BYTES;

/// The beginnings of icons that browsers draw without running or loading anything, as an SVG picture may.
const PICTURES: [&str; 3] = ["data:image/png;base64,", "data:image/jpeg;base64,", "data:image/webp;base64,"];

/// The first icon that can be shown, as a `data:` URI.
pub(super) fn of(icons: &[Icon]) -> Option<String> {
    icons.iter().map(|icon| &icon.src).find(|source| is_picture(source)).cloned()
}

fn is_picture(source: &str) -> bool {
    let is_base64 = |data: &str| {
        !data.is_empty()
            && data.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
    };
    source.len() <= MCP_ICON_BYTES
        && PICTURES.iter().filter_map(|beginning| source.strip_prefix(beginning)).any(is_base64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_icon_that_needs_no_address_is_shown() {
        let of = |sources: &[&str]| of(&sources.iter().map(|source| Icon::new(*source)).collect::<Vec<_>>());
        let (png, webp) = ("data:image/png;base64,iVBORw0KGgo=", "data:image/webp;base64,UklGRg+/");
        assert_eq!(of(&["https://icons.example/a.png", png, webp]).as_deref(), Some(png));
        let long = format!("data:image/png;base64,{}", "A".repeat(MCP_ICON_BYTES));
        assert_eq!(of(&[&long, webp]).as_deref(), Some(webp));
        for refused in [
            "",
            "javascript:alert(1)",
            "data:image/svg+xml;base64,PHN2Zy8+",
            "data:text/html;base64,PGI+",
            "data:image/png,raw",
            "data:image/png;base64,",
            "data:image/png;base64,a\"onload=x",
        ] {
            assert_eq!(of(&[refused]), None, "{refused}");
        }
    }
}
