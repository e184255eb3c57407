//! Determines what a call would do before its user is asked: where its path leads, the current content, and what a permission for good would cover.

use std::path::Path;

use sandbox::{ErrorKind, FileKind, Present, Resolved, Sandbox, SandboxError};

use super::{CardData, Failure, Proposal, ProposalPart, ProposalPlace, path, visible};

/// The error if a runner is too old to resolve paths.
const UNRESOLVED: &str = "this machine's runner is an older version that does not resolve paths: symbolic links may lead elsewhere; update it";

/// A call's place, with the state that was found there.
pub struct Ground {
    sandbox: Sandbox,
    /// The chat's directory as the model named it.
    cwd: String,
    /// The same directory as the machine resolved it, relative to the workspace.
    resolved_cwd: String,
    is_resolved: bool,
    user: Option<String>,
}

/// The effect that a call would have.
#[derive(Debug, Default)]
pub struct Looked {
    /// The proposal that the user is asked about.
    pub proposal: Proposal,
    /// The change that is shown with the proposal.
    pub edit: Option<CardData>,
    /// The subject that is stored if the call is allowed for good.
    pub subject: String,
    /// The state that must not have changed when the call is carried out.
    pub bound: Bound,
}

/// The state that was found, which must be the same when an allowed call begins.
#[derive(Clone, Debug, Default)]
pub struct Bound {
    /// The directory that commands begin in, relative to the workspace.
    pub directory: Option<String>,
    /// The file that the call changes.
    pub file: Option<BoundFile>,
}

/// A file whose change was allowed.
#[derive(Clone, Debug)]
pub struct BoundFile {
    /// The file's path, relative to the workspace.
    pub path: String,
    /// The file's content.
    pub present: Present,
    /// True if the machine itself binds the change to this path; otherwise the server checks again before the change.
    pub is_resolved: bool,
}

/// A file and the state in which it was found.
pub struct Target {
    /// The file, with its path and content.
    pub file: BoundFile,
    /// True if the file exists.
    pub exists: bool,
    /// The file's size in bytes; 0 if it does not exist.
    pub size_bytes: u64,
}

impl Ground {
    /// Examines a chat's directory.
    ///
    /// Fails if the machine cannot be reached, or the directory does not exist.
    pub async fn of(sandbox: Sandbox, cwd: String, named: Option<&str>) -> Result<Self, Failure> {
        let default = sandbox.facts().run_as.as_ref().map(|names| names.default.clone());
        let user = named.map(str::to_owned).or(default);
        let lexical = path::join(&cwd, ".");
        let resolved = sandbox.resolve(lexical.as_bytes()).await?;
        let is_resolved = resolved.is_some();
        let resolved_cwd = match resolved {
            Some(found) if found.found.as_ref().is_some_and(|found| found.kind == FileKind::Directory) => {
                text(&found)?
            }
            Some(_) => {
                return Err(Failure::Message(format!(
                    "the directory {} no longer exists",
                    visible::line(&lexical)
                )));
            }
            None => lexical,
        };
        Ok(Self { sandbox, cwd, resolved_cwd, is_resolved, user })
    }

    /// The machine on which the call runs.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// The machine's name.
    pub fn machine(&self) -> &str {
        self.sandbox.place()
    }

    /// The machine's user that the call runs as, if it is known.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The absolute path of the directory where a command begins.
    pub fn directory(&self) -> String {
        self.absolute(&self.resolved_cwd)
    }

    /// A proposal that names this place.
    pub fn proposal(&self, effect: String) -> Proposal {
        let place = ProposalPlace {
            machine: visible::line(self.machine()),
            directory: visible::line(&self.directory()),
            user: self.user().map(visible::line),
        };
        let note = (!self.is_resolved).then(|| UNRESOLVED.to_owned());
        Proposal { effect, place: Some(place), note, ..Proposal::default() }
    }

    /// The state that must not have changed when a command begins.
    pub fn bound(&self) -> Bound {
        Bound { directory: Some(self.resolved_cwd.clone()), file: None }
    }

    /// Examines the file that the model's path leads to.
    ///
    /// Fails if the path is wrong, leads to something other than a regular file, or cannot be examined.
    pub async fn target(&self, given: &str) -> Result<Target, Failure> {
        path::readable(given)?;
        let lexical = path::join(&self.cwd, given);
        let resolved = self.sandbox.resolve(lexical.as_bytes()).await?;
        let is_resolved = resolved.is_some();
        let (path, found, sha256) = match resolved {
            Some(resolved) => (text(&resolved)?, resolved.found, resolved.sha256),
            None => match self.sandbox.stat(lexical.as_bytes()).await {
                Ok(found) => (lexical, Some(found), None),
                Err(SandboxError::Remote { kind: ErrorKind::NotFound, .. }) => (lexical, None, None),
                Err(error) => return Err(error.into()),
            },
        };
        if let Some(found) = found.as_ref().filter(|found| found.kind != FileKind::File) {
            let what = if found.kind == FileKind::Directory { "a directory" } else { "not a regular file" };
            return Err(Failure::Message(format!("{} is {what}", visible::line(&path))));
        }
        let present = match (&found, sha256) {
            (None, _) => Present::Nothing,
            (Some(_), Some(sha256)) => Present::Content(sha256),
            (Some(_), None) => Present::AnyFile,
        };
        let (exists, size_bytes) = (found.is_some(), found.map_or(0, |found| found.size_bytes));
        Ok(Target { file: BoundFile { path, present, is_resolved }, exists, size_bytes })
    }

    /// A file's absolute path.
    pub fn absolute(&self, path: &str) -> String {
        let workspace = self.sandbox.facts().workspace.trim_end_matches('/');
        match path {
            "." if workspace.is_empty() => "/".to_owned(),
            "." => workspace.to_owned(),
            path if Path::new(path).is_absolute() => path.to_owned(),
            path => format!("{workspace}/{path}"),
        }
    }

    /// The proposal for a file's change, and what is stored if it is allowed for good.
    pub fn file_change(&self, target: Target, effect: String, parts: Vec<ProposalPart>) -> Looked {
        let machine = self.machine();
        let proposal = Proposal {
            target: Some(visible::line(&self.absolute(&target.file.path))),
            parts,
            always: Some(format!(
                "changing any file on {machine}, in this chat; after a change, a command that was always allowed needs approval \
                 again"
            )),
            ..self.proposal(effect)
        };
        let bound = Bound { file: Some(target.file), directory: None };
        Looked { proposal, edit: None, subject: key(&[machine]), bound }
    }
}

impl Looked {
    /// A proposal for an action that has no place.
    pub fn words(effect: impl Into<String>, parts: Vec<ProposalPart>) -> Self {
        let proposal = Proposal { effect: effect.into(), parts, ..Proposal::default() };
        Self { proposal, ..Self::default() }
    }

    /// The same proposal with its place.
    pub fn at(mut self, ground: Option<&Ground>) -> Self {
        if let Some(ground) = ground {
            let Proposal { place, note, .. } = ground.proposal(String::new());
            (self.proposal.place, self.proposal.note) = (place, note);
        }
        self
    }

    /// The same proposal for a call that needs its user's permission each time, with the reason.
    pub fn only_once(mut self, why: &str) -> Self {
        (self.proposal.always, self.proposal.only_once) = (None, Some(why.to_owned()));
        self
    }

    /// The same proposal for a call that a hook wants the user asked about, with the reason; the user is asked each time.
    pub fn asked_for(mut self, why: &str) -> Self {
        let why = visible::line(why);
        self.proposal.note = Some(match self.proposal.note {
            Some(note) => format!("{note}; {why}"),
            None => why.clone(),
        });
        self.only_once(&why)
    }

    /// The number of bytes of the call that the user is shown.
    pub fn shown_bytes(&self) -> usize {
        self.proposal.to_text().len()
    }

    /// The same proposal, with the subject that is stored if the call is allowed for good.
    pub fn always(mut self, subject: &[&str], words: String) -> Self {
        (self.subject, self.proposal.always) = (key(subject), Some(words));
        self
    }
}

/// A text of the model as a part of a proposal.
pub fn part(label: &str, text: &str) -> ProposalPart {
    ProposalPart { label: label.to_owned(), text: visible::whole(text), is_in_edit: false }
}

/// Like [`part`], for a text that the shown change contains as well.
pub fn edited(label: &str, text: &str) -> ProposalPart {
    ProposalPart { is_in_edit: true, ..part(label, text) }
}

/// A size, formatted for people.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{}.{} KiB", bytes / 1024, bytes % 1024 * 10 / 1024),
        _ => format!("{}.{} MiB", bytes / 1_048_576, bytes % 1_048_576 * 10 / 1_048_576),
    }
}

/// Several words combined into one key; different words always give a different key.
fn key(words: &[&str]) -> String {
    serde_json::to_string(words).expect("texts are always JSON")
}

/// The words that a key combines, in the form that people may see.
pub fn words_of(subject: &str) -> Vec<String> {
    // A key of another version is shown unchanged.
    let words: Vec<String> = serde_json::from_str(subject).unwrap_or_else(|_| vec![subject.to_owned()]);
    words.iter().map(|word| visible::whole(word)).collect()
}

fn text(resolved: &Resolved) -> Result<String, Failure> {
    String::from_utf8(resolved.path.as_bytes().to_vec()).map_err(|_| {
        Failure::Message("the path leads to a name that is not UTF-8; use a command in Shell".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_gives_back_its_words_and_hides_none_of_their_characters() {
        assert_eq!(words_of(&key(&["laptop", "", "echo \"a\""])), ["laptop", "", "echo \"a\""]);
        assert_eq!(words_of("not a key"), ["not a key"]);
        assert!(!words_of(&key(&["a\u{202e}b"]))[0].contains('\u{202e}'));
    }

    #[test]
    fn what_is_kept_of_one_call_is_never_that_of_another() {
        assert_ne!(key(&["a", "b"]), key(&["a\",\"b"]));
        assert_ne!(key(&["a", ""]), key(&["a"]));
    }

    #[test]
    fn sizes_are_said_in_words() {
        assert_eq!([0, 1023, 1229, 3 << 20].map(size), ["0 bytes", "1023 bytes", "1.2 KiB", "3.0 MiB"]);
    }
}
