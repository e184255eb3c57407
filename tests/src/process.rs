//! Finding and ending processes.

use std::fs;
use std::process::Child;

/// Pids of living (not zombie) processes whose command line contains `marker`.
pub fn with_marker(marker: &str) -> Vec<i32> {
    let own = std::process::id() as i32;
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(|&pid| pid != own && is_alive(pid))
        .filter(|pid| {
            let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&command).replace('\0', " ").contains(marker)
        })
        .collect()
}

/// Pids of living (not zombie) processes whose command line is exactly these words.
pub fn with_command(words: &str) -> Vec<i32> {
    let is_it = |pid: &i32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).replace('\0', " ").trim_end() == words
    };
    with_marker(words).into_iter().filter(is_it).collect()
}

/// True if the process exists and is not a zombie.
pub fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Child pids of a process, over all its threads.
pub fn children(pid: i32) -> Vec<i32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    tasks
        .filter_map(|task| fs::read_to_string(task.ok()?.path().join("children")).ok())
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// Sends a signal; does nothing if the process has ended.
pub fn signal(pid: i32, signal: rustix::process::Signal) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Ends a child with SIGTERM and waits for it.
pub fn terminate(child: &mut Child) {
    signal(child.id() as i32, rustix::process::Signal::TERM);
    let _ = child.wait();
}

/// Resident memory of a process, in KiB.
pub fn resident_kib(pid: i32) -> u64 {
    status_kib(pid, "VmRSS:")
}

/// Resident memory of a process, in KiB, without mapped files: the process's own allocations.
pub fn anonymous_kib(pid: i32) -> u64 {
    status_kib(pid, "RssAnon:")
}

fn status_kib(pid: i32, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or("0");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}
