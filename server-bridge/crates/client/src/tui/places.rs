//! The place of the next command, in terms of the server's routing rules.

use api::runner::{AUTO, DOCKER, NONE};
use api::settings::ChoiceView;
use api::words::ChoiceKind;

use super::wire::Runner;

/// The server's information about the places.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The active runner; `None` lets the server choose.
    pub(super) active: Option<String>,
    pub(super) choices: Vec<ChoiceView>,
    pub(super) runners: Vec<Runner>,
    /// True if the server has reported the places.
    pub(super) is_known: bool,
}

/// The state of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Online,
    Offline,
    /// There is no runner, or there are several and none is chosen.
    Unclear,
}

/// The place where a chat's commands run.
#[derive(Debug, PartialEq)]
pub(super) struct Where {
    pub(super) name: String,
    pub(super) standing: Standing,
    /// The place's profile, or the reason why nothing can run there.
    pub(super) note: Option<String>,
    /// True if the chat is bound to it.
    pub(super) is_bound: bool,
}

impl Places {
    /// The place where a chat's commands run; `bound` is the place that the chat is bound to.
    pub(super) fn of(&self, bound: Option<&str>) -> Where {
        match bound.or(self.active.as_deref()).filter(|name| *name != AUTO) {
            Some(name) => Where { is_bound: bound.is_some(), ..self.named(name) },
            None => self.automatic(),
        }
    }

    fn named(&self, name: &str) -> Where {
        let choice = self.choices.iter().find(|choice| choice.name == name);
        let is_ready = choice.is_some_and(is_ready);
        let standing = if is_ready { Standing::Online } else { Standing::Offline };
        let note = match choice {
            Some(_) if is_ready => self.profile(name),
            Some(choice) => choice.note.clone(),
            None if self.is_known => Some("it is no longer there".to_owned()),
            None => None,
        };
        Where { name: shown(name), standing, note, is_bound: false }
    }

    fn automatic(&self) -> Where {
        let unclear = |name: &str, note: &str| Where {
            name: name.to_owned(),
            standing: Standing::Unclear,
            note: Some(note.to_owned()),
            is_bound: false,
        };
        match &self.runners[..] {
            [only] => self.named(&only.name),
            [] => {
                // Docker counts as online without its image, which the first command there pulls.
                match self.choices.iter().find(|choice| choice.kind == ChoiceKind::Docker && choice.online) {
                    Some(docker) => self.named(&docker.name),
                    None => unclear("no runner", "add one with `sandbridge runner add`"),
                }
            }
            _ => unclear("no runner chosen", "Ctrl+R chooses one"),
        }
    }

    fn profile(&self, name: &str) -> Option<String> {
        self.runners.iter().find(|runner| runner.name == name)?.profile.clone()
    }
}

/// True if a command would run there now.
pub(super) fn is_ready(choice: &ChoiceView) -> bool {
    choice.available && choice.online
}

/// A place's name for people.
pub(super) fn shown(name: &str) -> String {
    match name {
        DOCKER => "the Docker container".to_owned(),
        NONE => "the server itself".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runner(name: &str, online: bool) -> (ChoiceView, Runner) {
        let (kind, profile) = (ChoiceKind::Runner, Some("workspace".to_owned()));
        let choice = ChoiceView { name: name.to_owned(), kind, online, available: online, note: None };
        (choice, Runner { name: name.to_owned(), online, profile })
    }

    #[test]
    fn where_work_goes_follows_the_routing_rules() {
        let places = |active: Option<&str>, runners: &[(&str, bool)]| {
            let (choices, runners) = runners.iter().map(|(name, online)| runner(name, *online)).unzip();
            Places { active: active.map(str::to_owned), choices, runners, is_known: true }
        };
        let two = [("laptop", true), ("work", false)];
        let at = places(Some("laptop"), &two).of(None);
        assert_eq!((at.name.as_str(), at.standing), ("laptop", Standing::Online));
        assert_eq!(at.note.as_deref(), Some("workspace"));
        let bound = places(Some("laptop"), &two).of(Some("work"));
        assert!(bound.is_bound && bound.standing == Standing::Offline);
        assert_eq!(places(None, &two).of(None).standing, Standing::Unclear);
        assert_eq!(places(None, &[("only", true)]).of(None).name, "only");
        assert_eq!(places(None, &[]).of(None).standing, Standing::Unclear);
        assert_eq!(places(Some("gone"), &two).of(None).standing, Standing::Offline);
    }
}
