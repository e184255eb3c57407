//! Paths as a model writes them. Nothing is guarded here: the runner resolves every path beneath its workspace.

/// Where `path` leads from `cwd`; both are relative to the workspace, unless they are absolute. `..` is taken out by name, since
/// the runner refuses what leads out of the workspace anyway.
pub(super) fn join(cwd: &str, path: &str) -> String {
    let is_absolute = path.starts_with('/');
    let joined = if is_absolute { path.to_owned() } else { format!("{cwd}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match (part, parts.last()) {
            ("..", Some(last)) if *last != ".." => drop(parts.pop()),
            // Beyond the workspace: let the runner say so.
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

#[cfg(test)]
mod tests {
    use super::*;

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
