//! The machine's hierarchies of control groups, and the places in them where this process may make a group.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD};

use super::GroupError;

/// The group that a runner moves itself into.
const ASIDE: &str = "sandbridge-runner";

/// The resources that a control group limits, as far as they are used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Controller {
    Memory,
    Pids,
    Cpu,
}

impl Controller {
    pub(super) const ALL: [Self; 3] = [Self::Memory, Self::Pids, Self::Cpu];

    fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Pids => "pids",
            Self::Cpu => "cpu",
        }
    }
}

impl fmt::Display for Controller {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The version of a hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// A place for a group, and the controllers there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) version: Version,
    pub(super) parent: PathBuf,
    pub(super) controllers: Vec<Controller>,
    /// True if the parent contains only this process, which has to move away before its groups can have controllers.
    steps_aside: bool,
}

/// The kernel's information about this process and its machine.
pub(super) struct Host {
    /// `/proc/self/mountinfo`.
    mounts: String,
    /// `/proc/self/cgroup`.
    groups: String,
}

impl Host {
    pub(super) fn of_this_process() -> Result<Self, GroupError> {
        let read = |path: &str| fs::read_to_string(path).map_err(GroupError::refused(Path::new(path)));
        Ok(Self { mounts: read("/proc/self/mountinfo")?, groups: read("/proc/self/cgroup")? })
    }

    /// The places for groups with these controllers; changes nothing.
    pub(super) fn places(&self, controllers: &[Controller]) -> Result<Vec<Place>, GroupError> {
        let unified = self.unified();
        let offered =
            unified.as_deref().map(|own| words(&own.join("cgroup.controllers"))).unwrap_or_default();
        let (second, first): (Vec<_>, Vec<_>) = controllers
            .iter()
            .copied()
            .partition(|controller| offered.iter().any(|name| name == controller.name()));
        let mut places = Vec::new();
        for controller in first {
            let place = self.first_version(controller).ok_or_else(|| none_here(controller))?;
            // Two controllers may share a hierarchy.
            match places.iter_mut().find(|known: &&mut Place| known.parent == place.parent) {
                Some(known) => known.controllers.push(controller),
                None => places.push(place),
            }
        }
        if let (Some(own), false) = (unified, second.is_empty()) {
            places.push(second_version(&own, second)?);
        }
        Ok(places)
    }

    /// This process's own place in a hierarchy of the first version, if it may make groups there.
    fn first_version(&self, controller: Controller) -> Option<Place> {
        let parent = self.own_of_first(controller)?;
        may_write(&parent).then(|| Place {
            version: Version::One,
            parent,
            controllers: vec![controller],
            steps_aside: false,
        })
    }

    fn own_of_first(&self, controller: Controller) -> Option<PathBuf> {
        let has = |names: &str| names.split(',').any(|name| name == controller.name());
        let own = self.groups.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            fields.next().filter(|names| has(names))?;
            fields.next()
        })?;
        self.mounted("cgroup", has, own)
    }

    /// The group that this process is in, in the hierarchy of a controller.
    pub(super) fn own(&self, controller: Controller) -> Option<(Version, PathBuf)> {
        let first = self.own_of_first(controller).map(|own| (Version::One, own));
        first.or_else(|| Some((Version::Two, self.unified()?)))
    }

    /// This process's own place in the hierarchy of the second version.
    fn unified(&self) -> Option<PathBuf> {
        let own = self.groups.lines().find_map(|line| line.strip_prefix("0::"))?;
        self.mounted("cgroup2", |_| true, own)
    }

    /// The path of the group `own` of a hierarchy in the file system.
    fn mounted(&self, kind: &str, has: impl Fn(&str) -> bool, own: &str) -> Option<PathBuf> {
        self.mounts.lines().find_map(|line| {
            let (mount, file_system) = line.split_once(" - ")?;
            let mut file_system = file_system.split(' ');
            let (found, options) = (file_system.next()?, file_system.nth(1)?);
            let mut mount = mount.split(' ').skip(3);
            let (root, point) = (mount.next()?, mount.next()?);
            let below = Path::new(own).strip_prefix(root).ok()?;
            (found == kind && has(options)).then(|| Path::new(point).join(below))
        })
    }
}

/// The kernel lets a group either contain processes or distribute resources to others, not both (except the root). So the
/// new one is made below this process's group if that is the root, or distributes already, or contains only this process,
/// which can move away; otherwise next to it.
fn second_version(own: &Path, controllers: Vec<Controller>) -> Result<Place, GroupError> {
    let deals_out = |group: &Path| {
        let dealt_out = words(&group.join("cgroup.subtree_control"));
        controllers.iter().all(|controller| dealt_out.iter().any(|name| name == controller.name()))
    };
    let place = |parent: &Path, steps_aside| Place {
        version: Version::Two,
        parent: parent.to_owned(),
        controllers: controllers.clone(),
        steps_aside,
    };
    let is_root = !own.join("cgroup.type").exists();
    if may_write(own) && (is_root || deals_out(own)) {
        return Ok(place(own, false));
    }
    let beside = own.parent().filter(|parent| may_write(parent) && deals_out(parent));
    // An earlier program of this process moved away.
    if let Some(parent) = beside.filter(|_| own.file_name().is_some_and(|name| name == ASIDE)) {
        return Ok(place(parent, false));
    }
    let inside = words(&own.join("cgroup.procs"));
    if may_write(own) && inside == [std::process::id().to_string()] {
        return Ok(place(own, true));
    }
    if let Some(parent) = beside {
        return Ok(place(parent, false));
    }
    Err(GroupError::Unavailable(format!(
        "limits for all commands together (--memory, --pids, --cpus) need a control group, and this user has no permission to make one in \
         {}. Start \
         the runner as a service (install-service), or with: systemd-run --user --scope -p Delegate=yes sandbridge-runner …",
        own.display()
    )))
}

impl Place {
    /// Makes the groups created here have their controllers. Adds the groups that it makes to `made`.
    pub(super) fn prepare(&self, made: &mut Vec<PathBuf>) -> Result<(), GroupError> {
        if self.version == Version::One {
            return Ok(());
        }
        if self.steps_aside {
            let aside = self.parent.join(ASIDE);
            match fs::create_dir(&aside) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(GroupError::refused(&aside)(error));
                }
                Ok(()) | Err(_) => made.push(aside.clone()),
            }
            let members = aside.join("cgroup.procs");
            fs::write(&members, "0").map_err(GroupError::refused(&members))?;
        }
        let path = self.parent.join("cgroup.subtree_control");
        let dealt_out = words(&path);
        let missing = self
            .controllers
            .iter()
            .filter(|controller| !dealt_out.iter().any(|name| name == controller.name()));
        let missing: Vec<String> = missing.map(|controller| format!("+{controller}")).collect();
        if missing.is_empty() {
            return Ok(());
        }
        fs::write(&path, missing.join(" ")).map_err(GroupError::refused(&path))
    }
}

fn none_here(controller: Controller) -> GroupError {
    GroupError::Unavailable(format!(
        "this machine has no control group (cgroup v1 or v2, mounted and writable) in which this user can limit {controller}, so \
         {controller} cannot be limited for all commands together. Leave the limit out, run the runner as root, or limit the \
         machine or container \
         it runs in"
    ))
}

fn words(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// True if groups can be created in a directory, and processes moved into them.
fn may_write(directory: &Path) -> bool {
    let may = |path: &Path| rustix::fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok();
    may(directory) && may(&directory.join("cgroup.procs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine whose hierarchies are in a test directory.
    fn host(root: &Path, mounts: &[(&str, &str)], groups: &str) -> Host {
        let line = |(point, kind): &(&str, &str)| {
            let (file_system, options) = kind.split_once(' ').unwrap_or((kind, "rw"));
            format!("30 24 0:26 / {}/{point} rw,nosuid - {file_system} cgroup {options}\n", root.display())
        };
        Host { mounts: mounts.iter().map(line).collect(), groups: groups.to_owned() }
    }

    fn group(directory: &Path, files: &[(&str, &str)]) {
        fs::create_dir_all(directory).unwrap();
        fs::write(directory.join("cgroup.procs"), "").unwrap();
        for (name, content) in files {
            fs::write(directory.join(name), content).unwrap();
        }
    }

    #[test]
    fn each_controller_of_the_first_version_has_its_own_place() {
        let root = tempfile::tempdir().unwrap();
        group(&root.path().join("memory/of/us"), &[]);
        group(&root.path().join("cpu/all"), &[]);
        let mounts =
            [("memory", "cgroup rw,memory"), ("cpu", "cgroup rw,cpu,pids"), ("unified", "cgroup2 rw")];
        let host = host(root.path(), &mounts, "9:name=x:/\n8:memory:/of/us\n7:cpu,pids:/all\n0::/\n");
        let places = host.places(&Controller::ALL).unwrap();
        let found: Vec<_> =
            places.iter().map(|place| (place.parent.clone(), place.controllers.clone())).collect();
        assert_eq!(
            found,
            [
                (root.path().join("memory/of/us"), vec![Controller::Memory]),
                (root.path().join("cpu/all"), vec![Controller::Pids, Controller::Cpu])
            ]
        );
        assert!(places.iter().all(|place| place.version == Version::One));
    }

    #[test]
    fn a_group_that_deals_out_takes_ours_and_one_with_others_in_it_does_not() {
        let root = tempfile::tempdir().unwrap();
        let own = root.path().join("unified/user/app");
        let offered = ("cgroup.controllers", "cpu memory pids\n");
        group(&own, &[offered, ("cgroup.type", "domain"), ("cgroup.subtree_control", "memory pids cpu\n")]);
        group(
            own.parent().unwrap(),
            &[offered, ("cgroup.type", "domain"), ("cgroup.subtree_control", "memory\n")],
        );
        let host = host(root.path(), &[("unified", "cgroup2")], "0::/user/app\n");
        let parent =
            |controllers: &[Controller]| host.places(controllers).map(|places| places[0].parent.clone());
        assert_eq!(parent(&Controller::ALL).unwrap(), own);
        fs::write(own.join("cgroup.subtree_control"), "").unwrap();
        fs::write(own.join("cgroup.procs"), "1\n2\n").unwrap();
        assert_eq!(parent(&[Controller::Memory]).unwrap(), own.parent().unwrap());
        let error = parent(&Controller::ALL).unwrap_err().to_string();
        assert!(error.contains("Delegate") && error.contains("--memory"), "{error}");
        fs::write(own.join("cgroup.procs"), format!("{}\n", std::process::id())).unwrap();
        let place = &host.places(&Controller::ALL).unwrap()[0];
        assert_eq!((&place.parent, place.steps_aside), (&own, true));
        let mut made = Vec::new();
        let aside = own.join("sandbridge-runner");
        place.prepare(&mut made).unwrap();
        assert_eq!(made, std::slice::from_ref(&aside));
        assert_eq!(fs::read_to_string(aside.join("cgroup.procs")).unwrap(), "0");
        assert_eq!(fs::read_to_string(own.join("cgroup.subtree_control")).unwrap(), "+memory +pids +cpu");
        // A program that replaces this one finds itself there, and makes its group in the same place.
        fs::write(own.join("cgroup.subtree_control"), "memory pids cpu").unwrap();
        group(&aside, &[offered, ("cgroup.type", "domain")]);
        fs::write(aside.join("cgroup.procs"), format!("{}\n", std::process::id())).unwrap();
        let host = self::host(root.path(), &[("unified", "cgroup2")], "0::/user/app/sandbridge-runner\n");
        let place = &host.places(&Controller::ALL).unwrap()[0];
        assert_eq!((&place.parent, place.steps_aside), (&own, false));
    }

    #[test]
    fn without_hierarchies_the_controller_is_named() {
        let root = tempfile::tempdir().unwrap();
        let host = host(root.path(), &[], "0::/\n");
        let error = host.places(&[Controller::Pids]).unwrap_err().to_string();
        assert!(error.contains("pids") && error.contains("Leave the limit out"), "{error}");
    }
}
