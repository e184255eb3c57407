//! Reading a part of an exec's output, while it runs or after its end.

use std::time::Duration;

use sandbox::{AckMode, AttachOptions, ExecEvent};
use store::{Exec, ExecStatus, User};
use tokio::time::{Instant, timeout_at};

use crate::follow::sandbox_id;
use crate::{Ledger, Result};

/// A part of an exec's output.
#[derive(Debug)]
pub struct Part {
    /// Standard output and error, in the order of arrival.
    pub bytes: Vec<u8>,
    /// The number of bytes of this range that are no longer kept.
    pub lost_bytes: u64,
    /// The offset of the next part.
    pub next_offset: u64,
    /// True if the exec has ended and this is the last part of its output.
    pub is_last: bool,
}

impl Ledger {
    /// At most `limit` bytes of an exec's output from `offset` on: those that exist, or arrive within `patience`. A client that already
    /// reads the output is informed that another one reads it.
    ///
    /// # Errors
    /// [`crate::Error::Route`]; [`crate::Error::Sandbox`], as `no_such_exec` or `expired` if the output is no longer kept.
    pub async fn part(
        &self,
        user: &User,
        record: &Exec,
        offset: u64,
        limit: usize,
        patience: Duration,
    ) -> Result<Part> {
        let sandbox = self.sandbox_of(user, record).await?;
        let id = sandbox_id(&record.exec_id);
        let known_bytes = sandbox.exec_report(id, 0, 0).await?.output_bytes;
        let options = AttachOptions { output: true, acks: AckMode::Manual };
        let mut exec = sandbox.attach(id, offset, options).await?;
        let mut part = Part { bytes: Vec::new(), lost_bytes: 0, next_offset: offset, is_last: false };
        let deadline = Instant::now() + patience;
        while part.bytes.len() < limit
            && (part.next_offset < known_bytes || record.status != ExecStatus::Running)
        {
            let Ok(event) = timeout_at(deadline, exec.next()).await else { break };
            match event {
                Some(ExecEvent::Stdout(bytes) | ExecEvent::Stderr(bytes)) => {
                    let taken = bytes.len().min(limit - part.bytes.len());
                    part.bytes.extend_from_slice(&bytes[..taken]);
                    part.next_offset += taken as u64;
                }
                Some(ExecEvent::Gap { bytes, .. }) => {
                    part.lost_bytes += bytes;
                    part.next_offset += bytes;
                }
                Some(ExecEvent::Finished(_)) | None => {
                    part.is_last = true;
                    break;
                }
                Some(ExecEvent::Failed(error)) => return Err(error.into()),
                Some(_) => {}
            }
        }
        exec.leave();
        Ok(part)
    }
}
