//! Output that does not fit into memory: one unlinked file per exec, in slots of one size.
//!
//! A freed slot is used again, so a file never outgrows what its exec may keep; all files together share a [`Budget`].
//! Reading and writing go through the page cache and are done where they are asked for.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};

use crate::blocking::post;
use crate::limits::{SPOOL_EXEC_BYTES, SPOOL_OPEN_MS, SPOOL_RUNNER_BYTES, SPOOL_SLOT_BYTES};

/// Makes an empty file that has no name.
pub(crate) type MakeFile = dyn Fn() -> io::Result<File>;

/// The disk budget that all execs of a runner share.
pub(crate) struct Budget {
    pub(super) used_slots: Cell<u64>,
    limit_bytes: u64,
    make_file: Box<MakeFile>,
    /// A file that was made before it was needed.
    spare: RefCell<Option<File>>,
}

impl std::fmt::Debug for Budget {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Budget").field("used_slots", &self.used_slots).finish_non_exhaustive()
    }
}

impl Budget {
    /// An unused budget of `limit_bytes`; `make_file` is called when an exec first needs to store output.
    pub(crate) fn new(limit_bytes: u64, make_file: Box<MakeFile>) -> Rc<Self> {
        Rc::new(Self { used_slots: Cell::new(0), limit_bytes, make_file, spare: RefCell::default() })
    }

    /// A budget for a runner's output, in files without a name in the state directory, which its own thread cannot see.
    pub(crate) fn of_runner(state_dir: &Path) -> Rc<Self> {
        let directory = state_dir.to_owned();
        let make_file = move || {
            let directory = directory.clone();
            let (reply, made) = std::sync::mpsc::channel();
            post(move || drop(reply.send(nameless_file(&directory))));
            let made = made.recv_timeout(Duration::from_millis(SPOOL_OPEN_MS));
            made.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
        };
        Self::new(SPOOL_RUNNER_BYTES, Box::new(make_file))
    }

    fn take_slot(&self) -> bool {
        let has_room = (self.used_slots.get() + 1) * SPOOL_SLOT_BYTES as u64 <= self.limit_bytes;
        if has_room {
            self.used_slots.set(self.used_slots.get() + 1);
        }
        has_room
    }

    fn give_back(&self, slots: u64) {
        self.used_slots.set(self.used_slots.get() - slots);
    }
}

/// The file with one exec's output.
#[derive(Debug)]
pub(super) struct Spool {
    file: Option<File>,
    free: Vec<u32>,
    /// The number of slots in the file, including free ones.
    slots: u32,
    budget: Rc<Budget>,
}

/// The place of a block.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Slot {
    number: u32,
    length: usize,
}

impl Spool {
    /// A spool without a file; the first write creates it.
    pub(super) fn new(budget: Rc<Budget>) -> Self {
        Self { file: None, free: Vec::new(), slots: 0, budget }
    }

    /// Stores at most one slot's bytes; `None` if there is no room, or no file can be created.
    pub(super) fn write(&mut self, block: &[u8]) -> Option<Slot> {
        debug_assert!(block.len() <= SPOOL_SLOT_BYTES);
        let used = u64::from(self.slots) - self.free.len() as u64;
        if (used + 1) * SPOOL_SLOT_BYTES as u64 > SPOOL_EXEC_BYTES || !self.budget.take_slot() {
            return None;
        }
        let number = self.free.pop().unwrap_or(self.slots);
        match self.file().and_then(|file| file.write_all_at(block, position(number))) {
            Ok(()) => {
                self.slots = self.slots.max(number + 1);
                Some(Slot { number, length: block.len() })
            }
            Err(error) => {
                tracing::warn!(
                    "output cannot be spooled to disk, so the oldest part of it is dropped: {error}"
                );
                self.budget.give_back(1);
                if number < self.slots {
                    self.free.push(number);
                }
                None
            }
        }
    }

    /// A stored part of the output.
    pub(super) fn read(&self, slot: &Slot) -> io::Result<Vec<u8>> {
        let mut block = vec![0; slot.length];
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        file.read_exact_at(&mut block, position(slot.number))?;
        Ok(block)
    }

    /// Frees a slot for others.
    pub(super) fn free(&mut self, slot: &Slot) {
        self.free.push(slot.number);
        self.budget.give_back(1);
    }

    fn file(&mut self) -> io::Result<&File> {
        if self.file.is_none() {
            let spare = self.budget.spare.borrow_mut().take();
            self.file = Some(spare.map_or_else(|| (self.budget.make_file)(), Ok)?);
        }
        self.file.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.budget.give_back(u64::from(self.slots) - self.free.len() as u64);
        if let Some(file) = self.file.take()
            && file.set_len(0).is_ok()
        {
            self.budget.spare.replace(Some(file));
        }
    }
}

fn position(slot: u32) -> u64 {
    u64::from(slot) * SPOOL_SLOT_BYTES as u64
}
fn nameless_file(directory: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    Ok(rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR)?.into())
}
