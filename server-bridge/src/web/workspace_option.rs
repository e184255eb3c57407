//! The workspace in the line that is pasted on a machine.

use crate::limits::WORKSPACE_BYTES;
use crate::web::error::ApiError;
use execs::quoted;

/// The option that makes a directory the workspace, with a blank before it: ` --workspace '/srv/my work'`. The directory is on
/// the machine that the line is pasted on; a leading `~/` means the home directory there.
///
/// # Errors
/// `invalid` for a text that is not a path, or contains characters that a line cannot contain.
pub fn workspace_option(directory: &str) -> Result<String, ApiError> {
    let invalid = |why: &str| Err(ApiError::invalid(format!("the directory for the workspace {why}")));
    let directory = directory.trim();
    if directory.is_empty() {
        return invalid("is empty; leave it out to use the one in which the line is pasted");
    }
    if directory.len() > WORKSPACE_BYTES {
        return invalid(&format!("has more than {WORKSPACE_BYTES} bytes"));
    }
    if directory.chars().any(char::is_control) {
        return invalid("contains line breaks or other control characters, which cannot be pasted");
    }
    let word = match directory.strip_prefix("~/") {
        // The shell replaces an unquoted tilde with the home directory.
        Some("") => "~/".to_owned(),
        Some(rest) => format!("~/{}", quoted(rest)),
        None if directory == "~" => "~".to_owned(),
        // Without `./` in front, the shell command would mistake the directory for an option.
        None if directory.starts_with('-') => quoted(&format!("./{directory}")),
        None => quoted(directory),
    };
    Ok(format!(" --workspace {word}"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// The arguments that a shell makes of the option.
    fn as_a_shell_reads(option: &str) -> Vec<String> {
        let script = format!("printf '%s\\n'{option}");
        let output = Command::new("sh").args(["-c", &script]).env("HOME", "/home/ada").output().unwrap();
        assert!(output.status.success(), "{option}: {output:?}");
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_shell_reads_one_directory_whatever_its_name_is() {
        for (directory, expected) in [
            ("/srv/work", "/srv/work"),
            (" /srv/my work ", "/srv/my work"),
            ("/srv/it's", "/srv/it's"),
            ("/srv/\"x\"", "/srv/\"x\""),
            ("/srv/$(touch x)`id`$HOME;ls&*?!", "/srv/$(touch x)`id`$HOME;ls&*?!"),
            ("/srv/\\n", "/srv/\\n"),
            ("~/code", "/home/ada/code"),
            ("~/my $(id) 'code'", "/home/ada/my $(id) 'code'"),
            ("~", "/home/ada"),
            ("~/", "/home/ada/"),
            ("~root/x", "~root/x"),
            ("-rf", "./-rf"),
            ("工作/目录", "工作/目录"),
            ("# x", "# x"),
        ] {
            let option = workspace_option(directory).unwrap();
            assert_eq!(as_a_shell_reads(&option), ["--workspace", expected], "{option}");
        }
    }

    #[test]
    fn what_cannot_be_pasted_is_refused() {
        let long = "x".repeat(WORKSPACE_BYTES + 1);
        for directory in ["", "  ", "/a\nb", "/a\rb", "/a\0b", "/a\u{1b}[2Jb", "/a\tb", &long] {
            assert_eq!(workspace_option(directory).unwrap_err().kind, "invalid", "{directory:?}");
        }
    }
}
