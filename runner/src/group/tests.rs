//! Birth in a group, under the filter, on the hierarchy of the second version; it needs no controllers for that.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::AsFd;
use std::sync::Arc;

use crate::confine::install_filter_alone;
use crate::sys::{self, Common, SpawnPlan};

/// A test group, if this machine and user can have one.
struct Own(std::path::PathBuf);

impl Own {
    fn new() -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let unified = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
        let path =
            std::path::Path::new(unified.split(' ').nth(4)?).join(format!("birth-{}", std::process::id()));
        fs::create_dir(&path).ok()?;
        Some(Self(path))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        fs::remove_dir(&self.0).unwrap();
    }
}

/// The groups of a program that a thread under the filter starts in `group`, as the program reports them.
fn born(group: &File, key: sys::MarkKey, shown: sys::MarkKey) -> std::io::Result<String> {
    install_filter_alone(key);
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let (null, root) = (File::open("/dev/null")?, File::open("/")?);
    let words = ["sh", "-c", "cat /proc/self/cgroup; ulimit -n"].map(|word| CString::new(word).unwrap());
    let limits = vec![sys::ResourceLimit { number: libc::RLIMIT_NOFILE, usual: 77, most: 77 }];
    let plan = SpawnPlan {
        program: c"/bin/sh".to_owned(),
        arguments: words.into(),
        environment: Vec::new(),
        stdin: null.as_fd(),
        stdout: writer.as_fd(),
        stderr: null.as_fd(),
        directory: root.as_fd(),
        is_terminal: false,
        common: Arc::new(Common { user: None, limits }),
        group: Some((group.as_fd(), shown)),
    };
    let (pid, _started) = sys::spawn(plan)?;
    drop(writer);
    let mut text = String::new();
    File::from(reader).read_to_string(&mut text)?;
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap());
    rustix::process::waitpid(pid, rustix::process::WaitOptions::empty())?;
    Ok(text)
}

#[test]
fn a_command_is_born_into_its_group_and_only_by_who_has_the_key() {
    let Some(own) = Own::new() else { return };
    let on_thread = |shown| {
        let group = File::open(&own.0).unwrap();
        std::thread::spawn(move || born(&group, [5, 1 << 40], shown)).join().unwrap()
    };
    let text = on_thread([5, 1 << 40]).unwrap();
    let name = own.0.file_name().unwrap().to_str().unwrap();
    assert!(text.contains(&format!("0::/{name}\n")) && text.ends_with("\n77\n"), "{text}");
    for wrong in [[5, 0], [0, 1 << 40], [4, 1 << 40], [5, (1 << 40) + 1]] {
        assert_eq!(on_thread(wrong).unwrap_err().raw_os_error(), Some(libc::ENOSYS), "{wrong:?}");
    }
}
