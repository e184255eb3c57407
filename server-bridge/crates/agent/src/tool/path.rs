//! Paths as a model writes them. They are not restricted here: the runner resolves every path within its workspace.

use super::Failure;

/// Resolves `path` against `cwd`; both are relative to the workspace, unless they are absolute. `..` is removed lexically, since
/// the runner refuses paths that lead out of the workspace anyway.
pub fn join(cwd: &str, path: &str) -> String {
    let is_absolute = path.starts_with('/');
    let joined = if is_absolute { path.to_owned() } else { format!("{cwd}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match (part, parts.last()) {
            ("..", Some(last)) if *last != ".." => drop(parts.pop()),
            // This leads out of the workspace, which is left for the runner to refuse.
            _ => parts.push(part),
        }
    }
    let text = parts.join("/");
    match (is_absolute || cwd.starts_with('/'), text.is_empty()) {
        (true, _) => format!("/{text}"),
        (false, true) => ".".to_owned(),
        (false, false) => text,
    }
}

/// Refuses a path that can be mistaken for another one. The path is checked as the model wrote it, before `..` removes a part of it.
///
/// Fails with the offending character.
pub fn readable(path: &str) -> Result<(), Failure> {
    let Some(found) = sandbox::control_character(path.as_bytes()) else { return Ok(()) };
    Err(Failure::Message(format!(
        "the path contains the control character U+{:04X}, which could make it look like another path: use a path without it",
        u32::from(found)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_refused_for_what_the_model_wrote_and_not_for_what_is_left_of_it() {
        for path in ["docs/guide.md\n/../../Makefile", "a\u{202e}/../b", "\u{1b}[2K/../b", "a\r", "a\tb"] {
            assert!(readable(path).unwrap_err().to_string().contains("control character U+"), "{path:?}");
        }
        assert!(readable("a b/../é").is_ok());
    }

    #[test]
    fn paths_begin_where_the_chat_is() {
        for (cwd, path, expected) in [
            ("", "a", "a"),
            ("", ".", "."),
            ("src", "a/./b//c", "src/a/b/c"),
            ("src", "..", "."),
            ("src/x", "../y", "src/y"),
            ("src", "../../etc", "../etc"),
            ("src", "/etc/passwd", "/etc/passwd"),
            ("/work/x", "../y", "/work/y"),
            ("", "", "."),
        ] {
            assert_eq!(join(cwd, path), expected, "{cwd:?} {path:?}");
        }
    }
}
