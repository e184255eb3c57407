//! The published servers, and an image with Node.js, Python, git and the servers, as a team would build one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;
use tests::binaries;
use tests::docker::{IMAGE, docker, ready};

use crate::world::{NO_PACKAGES, copy, node_modules};

/// The image of the other container tests with the programs and the servers.
pub(super) const WITH_SERVERS: &str = "sandbridge-test:mcp";

/// The packages of PyPI.
const PYTHON: [&str; 2] = ["mcp-server-git", "mcp-server-time"];

/// What no server loads of Python's library: its tests, its tools, and the packages of this machine.
const NO_LIBRARY: [&str; 8] =
    ["site-packages", "dist-packages", "test", "config-*", "idlelib", "ensurepip", "lib2to3", "tkinter"];

/// The directory in the image that has what [`copy_servers`] copies.
pub(super) const IN_IMAGE: &str = "opt/servers";

/// Runs a program that must succeed; returns its output.
fn told(program: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program:?} {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The path of a program of this machine, without links.
pub(super) fn program(name: &str) -> PathBuf {
    let found = told(Path::new("sh"), &["-c", &format!("command -v {name}")]);
    Path::new(found.trim()).canonicalize().unwrap()
}

/// The Python with which `scripts/test` installed the servers, without links.
pub(super) fn python() -> PathBuf {
    let python = binaries::directory().join("../third-party/mcp-server-time/bin/python3");
    python.canonicalize().expect("it is there: run the tests through scripts/test")
}

/// A package of PyPI with what it needs, as `scripts/test` installed it.
pub(super) fn site_packages(package: &str) -> PathBuf {
    let lib = binaries::directory().join(format!("../third-party/{package}/lib"));
    let version = fs::read_dir(&lib).ok().and_then(|mut found| found.next()).and_then(Result::ok);
    version
        .unwrap_or_else(|| panic!("{} is not there: run the tests through scripts/test", lib.display()))
        .path()
        .join("site-packages")
}

/// A directory of this machine, what of it no server needs, and its place in the image.
struct Part {
    from: PathBuf,
    left_out: &'static [&'static str],
    to: String,
}

/// The servers: each package of PyPI below its name, those of npm in `node_modules`.
fn servers() -> Vec<Part> {
    let of = |package: &str| Part {
        from: site_packages(package),
        left_out: &["pip", "setuptools", "pkg_resources"],
        to: package.to_owned(),
    };
    let mut servers: Vec<Part> = PYTHON.into_iter().map(of).collect();
    servers.push(Part { from: node_modules(), left_out: &NO_PACKAGES, to: "node_modules".to_owned() });
    servers
}

/// Copies the servers to a directory.
pub(super) fn copy_servers(to: &Path) {
    servers().iter().for_each(|part| copy(&part.from, &to.join(&part.to), part.left_out));
}

/// The libraries that programs and libraries load.
fn libraries_of(files: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let mut libraries = BTreeSet::new();
    for file in files {
        let list = Command::new("ldd").arg(file).output().unwrap();
        let list = String::from_utf8_lossy(&list.stdout).into_owned();
        libraries.extend(list.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from));
    }
    libraries.into_iter().filter(|library| library.is_file()).collect()
}

/// The native libraries below a directory.
fn native(directory: &Path) -> Vec<PathBuf> {
    let found = told(Path::new("find"), &[directory.to_str().unwrap(), "-name", "*.so*", "-type", "f"]);
    found.lines().map(PathBuf::from).collect()
}

/// Makes the image of the base's files, of programs at the same paths as here, and of the servers, in one stream.
pub(super) fn build() {
    ready();
    let (root, python) = (TempDir::new().unwrap(), python());
    let base = docker(&["create", IMAGE, "none"]).expect("the base is there");
    let extract = format!("docker export {0} | tar -x -C \"$1\" && docker rm {0}", base.trim());
    let path = root.path().to_str().unwrap();
    told(Path::new("sh"), &["-c", &extract, "sh", path]);
    let library = told(&python, &["-c", "import os; print(os.path.dirname(os.__file__))"]);
    let library = Path::new(library.trim());
    let programs = [python, program("node"), program("git")];
    let mut loading = BTreeSet::from(programs.clone());
    loading.extend(native(&library.join("lib-dynload")));
    loading.extend(PYTHON.iter().flat_map(|package| native(&site_packages(package))));
    let libraries = libraries_of(&loading);
    let libraries = libraries.iter().map(|library| library.to_str().unwrap());
    told(
        Path::new("cp"),
        &["-L", "--parents"].into_iter().chain(libraries).chain([path]).collect::<Vec<_>>(),
    );
    let mut parts = servers();
    parts.iter_mut().for_each(|part| part.to = format!("{IN_IMAGE}/{}", part.to));
    // The library goes to the same place, without packages installed on this machine.
    let same = below_root(library);
    parts.push(Part { from: library.to_owned(), left_out: &NO_LIBRARY, to: same });
    import(path, &programs, &parts);
}

/// A path without links and without the slash at its beginning.
fn below_root(path: &Path) -> String {
    path.canonicalize().unwrap().to_str().unwrap().trim_start_matches('/').to_owned()
}

fn import(root: &str, programs: &[PathBuf], parts: &[Part]) {
    let mut tar = Command::new("tar");
    tar.args(["-c", "--anchored"]);
    for part in parts {
        let from = below_root(&part.from);
        tar.args(part.left_out.iter().map(|name| format!("--exclude={from}/{name}")));
        tar.arg(format!("--transform=flags=rh;s,^{from},{},", part.to));
    }
    tar.args(["-C", root, ".", "-C", "/"]).args(programs.iter().map(|program| below_root(program)));
    tar.args(parts.iter().map(|part| below_root(&part.from)));
    let mut tar = tar.stdout(Stdio::piped()).spawn().unwrap();
    let mut imported = Command::new("docker");
    imported.args(["import", "-", WITH_SERVERS]);
    let imported = imported.stdin(tar.stdout.take().unwrap()).stdout(Stdio::null()).status().unwrap();
    assert!(tar.wait().unwrap().success() && imported.success());
}
