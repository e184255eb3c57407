//! The folder of an agent: a path below the workspace of its machine, or the whole workspace.

use chains::check::{is_output, is_pattern};

use crate::error::{Error, Result};

/// Parses a folder into its stored form, which has no trailing slash and is empty for the whole workspace.
///
/// # Errors
/// [`Error::Refused`] for a text that is not a relative path below the workspace. Links are checked later, by the runner.
pub(crate) fn parsed(text: &str) -> Result<String> {
    let text = text.trim();
    let folder = text.strip_prefix("./").unwrap_or(text);
    let folder = folder.strip_suffix('/').unwrap_or(folder);
    if text.starts_with('/') || !(matches!(folder, "" | ".") || is_output(folder)) || is_pattern(folder) {
        return Err(Error::invalid(format!(
            "`{text}` cannot be the folder of an agent: name a folder in the workspace of its machine, such as agents/coder"
        )));
    }
    Ok(if folder == "." { String::new() } else { folder.to_owned() })
}

/// Joins a folder and a path; the result is relative to the workspace.
pub(crate) fn below(folder: &str, path: &str) -> String {
    match (folder, path) {
        ("", path) => path.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, path) => format!("{folder}/{path}"),
    }
}

/// Makes a workspace path relative to a folder; `None` if the path is not below the folder.
pub(crate) fn inside<'a>(folder: &str, path: &'a [u8]) -> Option<&'a [u8]> {
    if folder.is_empty() {
        return Some(path);
    }
    path.strip_prefix(folder.as_bytes())?.strip_prefix(b"/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_stays_below_the_workspace() {
        for (text, folder) in [
            ("", ""),
            (".", ""),
            ("./", ""),
            (" agents/coder/ ", "agents/coder"),
            ("./agents/coder", "agents/coder"),
            ("小说/作者", "小说/作者"),
            ("a b", "a b"),
        ] {
            assert_eq!(parsed(text).unwrap(), folder, "{text}");
        }
        for text in
            ["/", "/etc", "..", "../x", "a/../b", "a//b", "a/./b", "~/x", "a*", "a\nb", "a\0b", "a,b", "//"]
        {
            let error = parsed(text).unwrap_err().message();
            assert!(error.contains("such as agents/coder"), "{text}: {error}");
        }
        assert!(parsed(&"a/".repeat(600)).is_err());
    }

    #[test]
    fn paths_go_into_a_folder_and_come_out_of_it() {
        assert_eq!(
            (below("", "a").as_str(), below("f", "a").as_str(), below("f", "").as_str()),
            ("a", "f/a", "f")
        );
        assert_eq!(inside("", b"a/b"), Some(&b"a/b"[..]));
        assert_eq!(inside("f/g", b"f/g/b"), Some(&b"b"[..]));
        assert_eq!((inside("f", b"fa/b"), inside("f", b"f"), inside("f/g", b"f/b")), (None, None, None));
    }
}
