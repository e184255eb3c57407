//! From a request to the inputs of `posix_spawn`: the program's path and the clean environment.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Access, AtFlags, CWD, FileType};
use rustix::io::Errno;

use super::{SpawnError, SpawnRequest};
use crate::confine::{ConfinePolicy, own_prefix_variables};
use crate::layers::Profile;
use crate::limits::{COMMAND_ARGUMENTS, COMMAND_BYTES};

/// The defaults of every command of a spawner.
#[derive(Debug)]
pub(super) struct Defaults {
    variables: Vec<Variable>,
}

/// A variable of the environment, in the kernel's form; those that commands share are stored once.
#[derive(Clone, Debug)]
struct Variable {
    text: Arc<CStr>,
    name_bytes: usize,
}

impl Variable {
    fn new(name: &[u8], value: &[u8]) -> Result<Self, SpawnError> {
        Ok(Self { text: c_string([name, value].join(&b'='))?.into(), name_bytes: name.len() })
    }

    fn name(&self) -> &[u8] {
        &self.text.to_bytes()[..self.name_bytes]
    }

    fn value(&self) -> &[u8] {
        &self.text.to_bytes()[self.name_bytes + 1..]
    }
}

impl Defaults {
    /// # Errors
    /// A variable has a NUL byte in it, which no system hands out.
    pub(super) fn new(
        profile: Profile,
        policy: &ConfinePolicy,
        home: &Path,
        path: &[PathBuf],
    ) -> Result<Self, SpawnError> {
        let path: Vec<&[u8]> = path.iter().map(|directory| directory.as_os_str().as_bytes()).collect();
        let path = path.join(&b':');
        let variables: [(&str, &[u8]); 8] = [
            ("PATH", &path),
            ("HOME", home.as_os_str().as_bytes()),
            ("USER", policy.user.as_bytes()),
            ("LOGNAME", policy.user.as_bytes()),
            ("SHELL", policy.shell.as_bytes()),
            ("LANG", b"C.UTF-8"),
            ("TERM", b"dumb"),
            ("TMPDIR", b"/tmp"),
        ];
        let mut variables: Vec<_> =
            variables.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.to_vec())).collect();
        let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
        // The toolchains stay where they are, even if HOME moved.
        let tools = policy.tools();
        let tools = tools.variables(home != policy.home);
        variables.extend(tools.map(|(name, root)| (name.as_bytes().to_vec(), bytes(root))));
        let passed = policy.passed_variables().variables.into_iter();
        variables.extend(passed.map(|(name, value)| (name.into_bytes(), value.as_bytes().to_vec())));
        if profile != Profile::FullControl {
            let own = own_prefix_variables(home);
            variables.extend(own.map(|(name, place)| (name.as_bytes().to_vec(), bytes(&place))));
        }
        let variables = variables.iter().map(|(name, value)| Variable::new(name, value));
        Ok(Self { variables: variables.collect::<Result<_, _>>()? })
    }

    /// The environment of one command: the defaults, its directory, then the request's variables.
    fn environment(&self, request: &SpawnRequest, directory: &Path) -> Result<Vec<Variable>, SpawnError> {
        let mut variables = self.variables.clone();
        variables.push(Variable::new(b"PWD", directory.as_os_str().as_bytes())?);
        for (name, value) in &request.env {
            let variable = Variable::new(name, value)?;
            match variables.iter_mut().find(|known| known.name() == name) {
                Some(known) => *known = variable,
                None => variables.push(variable),
            }
        }
        Ok(variables)
    }
}

/// A command in the kernel's form.
pub(super) struct Program {
    pub(super) path: CString,
    pub(super) arguments: Vec<CString>,
    pub(super) environment: Vec<Arc<CStr>>,
}

impl Program {
    /// Checks the request and finds its program; `cwd` is the open directory it will run in.
    pub(super) fn new(
        request: &SpawnRequest,
        defaults: &Defaults,
        cwd: BorrowedFd<'_>,
        directory: &Path,
    ) -> Result<Self, SpawnError> {
        let invalid = |reason| SpawnError::InvalidRequest { reason };
        let name =
            request.argv.first().filter(|name| !name.is_empty()).ok_or(invalid("no program is given"))?;
        if request.argv.len() > COMMAND_ARGUMENTS {
            return Err(invalid("too many arguments"));
        }
        if request.env.iter().any(|(name, _)| name.is_empty() || name.contains(&b'=')) {
            return Err(invalid("a variable's name is empty or has an equals sign"));
        }
        let variables = defaults.environment(request, directory)?;
        let size: usize = request.argv.iter().map(Vec::len).sum::<usize>()
            + variables.iter().map(|variable| variable.text.to_bytes_with_nul().len()).sum::<usize>();
        if size > COMMAND_BYTES {
            return Err(invalid("arguments and environment are too long"));
        }
        let arguments = request.argv.iter().cloned().map(c_string).collect::<Result<_, _>>()?;
        let path = c_string(find(name, &variables, cwd)?)?;
        let environment = variables.into_iter().map(|variable| variable.text).collect();
        Ok(Self { path, arguments, environment })
    }

    /// The reason why the program itself cannot be run, after its start failed; `None` if it is not to blame.
    pub(super) fn refusal(&self, request: &SpawnRequest, cwd: BorrowedFd<'_>) -> Option<SpawnError> {
        let name = request.argv.first().map_or(&b""[..], Vec::as_slice);
        executable(cwd, self.path.as_bytes()).err().map(|error| refusal(name, error))
    }
}

/// Finds the program as a shell does, in the calling thread's own view of the file system. One that is named by its path is
/// not checked: starting it reports any problem.
fn find(name: &[u8], variables: &[Variable], cwd: BorrowedFd<'_>) -> Result<Vec<u8>, SpawnError> {
    if name.contains(&b'/') {
        return Ok(name.to_vec());
    }
    let path = variables.iter().find(|known| known.name() == b"PATH").map_or(&b""[..], Variable::value);
    let mut worst = Errno::NOENT;
    for directory in path.split(|byte| *byte == b':') {
        let directory = if directory.is_empty() { b".".as_slice() } else { directory };
        let candidate = [directory, name].join(&b'/');
        match executable(cwd, &candidate) {
            Ok(()) => return Ok(candidate),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ISDIR) => {}
            Err(error) => worst = error,
        }
    }
    Err(refusal(name, worst))
}

fn executable(cwd: BorrowedFd<'_>, path: &[u8]) -> Result<(), Errno> {
    let path = OsStr::from_bytes(path);
    let directory = if Path::new(path).is_absolute() { CWD } else { cwd };
    let found = rustix::fs::statat(directory, path, AtFlags::empty())?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(Errno::ISDIR);
    }
    rustix::fs::accessat(directory, path, Access::EXEC_OK, AtFlags::EACCESS)
}

/// Distinguishes "there is none" from "it cannot be run".
pub(super) fn refusal(name: &[u8], error: Errno) -> SpawnError {
    let program = String::from_utf8_lossy(name).into_owned();
    match error {
        Errno::NOENT | Errno::NOTDIR => SpawnError::NotFound { program },
        error => SpawnError::NotExecutable { program, reason: std::io::Error::from(error).to_string() },
    }
}

fn c_string(bytes: Vec<u8>) -> Result<CString, SpawnError> {
    CString::new(bytes)
        .map_err(|_| SpawnError::InvalidRequest { reason: "a NUL byte in an argument or a variable" })
}
