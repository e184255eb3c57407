//! `sandbridge-runner update`: asks the runners of a state directory to update, and reports the results.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use super::control::{STATE, UPDATE, address, directory};
use crate::error::Error;
use crate::limits::{CONTROL_LOOK_MS, CONTROL_TIMEOUT_MS, UPDATE_RETURN_MS};

/// Asks every runner of this state directory, one after the other, and prints what happens; returns the exit code.
///
/// # Errors
/// The directory cannot be read, or a runner's socket belongs to another user.
pub fn run(state_dir: &Path) -> Result<i32, Error> {
    let place = directory(state_dir);
    let handle = match File::open(&place) {
        Ok(handle) => handle,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(none_runs(state_dir)),
        Err(error) => return Err(Error::file(&place)(error)),
    };
    let mut names = Vec::new();
    for entry in fs::read_dir(&place).map_err(Error::file(&place))? {
        names.push(entry.map_err(Error::file(&place))?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    let (mut found, mut failed) = (0, false);
    for name in names {
        match UnixStream::connect(address(&handle, &name)) {
            Ok(stream) => {
                found += 1;
                match update(stream, &handle, &name) {
                    Ok(told) => println!("runner {name}: {told}"),
                    Err(why) => {
                        failed = true;
                        eprintln!("sandbridge-runner: runner {name}: {why}");
                    }
                }
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                // The socket was left by a runner that was killed.
                let _ = fs::remove_file(address(&handle, &name));
            }
            Err(error) => return Err(Error::file(place.join(name))(error)),
        }
    }
    if found == 0 { Ok(none_runs(state_dir)) } else { Ok(i32::from(failed)) }
}

fn none_runs(state_dir: &Path) -> i32 {
    eprintln!(
        "sandbridge-runner: no runner with the state directory {} runs here, so there is nothing to update. Start it first, or \
         name another --state-dir; to install the newest one, paste the install line again: `sandbridge runner rotate NAME` and \
         the settings on the server's web page show one",
        state_dir.display()
    );
    1
}

/// Asks one runner, and waits for the result: its new version, or the error.
fn update(stream: UnixStream, directory: &File, name: &str) -> Result<String, String> {
    let mut wanted = None;
    for line in ask(stream, UPDATE).map_err(|error| error.to_string())?.map_while(Result::ok) {
        match line.split_once(' ') {
            Some(("downloading", version)) => {
                println!("runner {name}: downloading version {version}");
                // If there is nothing to wait for, the runner ends without another line.
                wanted = Some(version.to_owned());
            }
            Some(("waiting", rest)) => {
                let (count, version) = rest.split_once(' ').unwrap_or(("0", rest));
                match count {
                    "0" => println!(
                        "runner {name}: version {version} is downloaded and takes over when nothing is in progress"
                    ),
                    _ => println!(
                        "runner {name}: version {version} is downloaded and waits for running commands to end ({count})"
                    ),
                }
                wanted = Some(version.to_owned());
            }
            Some(("nothing", why)) => return Ok(why.to_owned()),
            Some(("failed", why)) => return Err(why.to_owned()),
            Some(_) | None => {}
        }
    }
    let Some(wanted) = wanted else { return Err("it ended".to_owned()) };
    println!("runner {name}: trying version {wanted}");
    let deadline = Instant::now() + Duration::from_millis(UPDATE_RETURN_MS);
    loop {
        if let Some((version, why)) = state(directory, name) {
            return match why {
                _ if version == wanted => Ok(format!("now version {version}")),
                Some(why) => Err(why),
                None => Ok(format!("now version {version}")),
            };
        }
        if matches!(address(directory, name).try_exists(), Ok(false)) {
            return Err("it was stopped before it was updated".to_owned());
        }
        if Instant::now() >= deadline {
            return Err(format!("it was not back within {} s; look at its log", UPDATE_RETURN_MS / 1_000));
        }
        std::thread::sleep(Duration::from_millis(CONTROL_LOOK_MS));
    }
}

/// The version of a running runner, and the reason why its last update failed.
fn state(directory: &File, name: &str) -> Option<(String, Option<String>)> {
    let stream = UnixStream::connect(address(directory, name)).ok()?;
    stream.set_read_timeout(Some(Duration::from_millis(CONTROL_TIMEOUT_MS))).ok()?;
    let lines: Vec<String> = ask(stream, STATE).ok()?.map_while(Result::ok).collect();
    let value = |key: &str| {
        let value = lines.iter().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        value.map(str::to_owned)
    };
    Some((value("version")?, value("failed")))
}

fn ask(mut stream: UnixStream, question: &str) -> io::Result<impl Iterator<Item = io::Result<String>>> {
    writeln!(stream, "{question}")?;
    Ok(BufReader::new(stream).lines())
}
