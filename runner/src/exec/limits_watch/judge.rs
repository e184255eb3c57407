//! Finds the tree to blame for a limit that was reached. Pure functions.

use crate::bounds::Bytes;
use crate::exec::met_limit::MetLimit;
use crate::group::Met;
use crate::kill::{Mark, Usage};
use crate::limits::{
    BLAMED_MEMORY_PART, COUNTED_LOOKS, COUNTED_LOOKS_CROWD, COUNTED_MEMORY_PART, CROWD_PART,
    FEW_PROCESSES_PART,
};

/// The limits of all commands together, and which of them only the runner counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) processes: Option<u32>,
    pub(super) memory: Option<Bytes>,
    pub(super) files: u32,
    pub(super) counts_processes: bool,
    pub(super) counts_memory: bool,
}

/// The whole machine's figures, and the runner's part of them as far as that is cheap to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OnMachine {
    /// Processes and threads, including unreaped dead ones.
    pub(super) tasks: u64,
    /// Processes in the runner's own PID namespace, including dead ones; 0 without one.
    pub(super) own_processes: u64,
    /// Open files.
    pub(super) files: u64,
    /// Unavailable memory, in bytes: the page cache is not part of it.
    pub(super) memory_bytes: u64,
}

impl OnMachine {
    /// The smaller of both figures for each resource; `other` was measured while commands ran. The commands' processes are subtracted where their
    /// number is known: one crowd may die while the next one grows, so that the machine is never without a crowd.
    fn least(self, other: Self) -> Self {
        Self {
            tasks: self.tasks.min(other.tasks.saturating_sub(other.own_processes)),
            own_processes: 0,
            files: self.files.min(other.files),
            memory_bytes: self.memory_bytes.min(other.memory_bytes),
        }
    }
}

/// Signs, found without counting, that a limit was reached since the last check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Signs {
    met: Met,
    /// The machine's figures without its commands, as far as they are known.
    others: OnMachine,
    refused: bool,
    /// True if processes were refused at two successive checks.
    refused_again: bool,
    /// True if the machine has so many more processes that commands may be at their limit.
    pub(super) crowded: bool,
    pub(super) killed: bool,
    /// True if processes were killed at two successive checks.
    killed_again: bool,
    pub(super) many_files: bool,
    /// Checks since everything was counted.
    uncounted_looks: u32,
    /// True if the last count of what only the runner counts is old.
    is_due: bool,
    /// True if memory is to be counted: only the runner counts it, and the machine has much less of it, or the last count is old.
    pub(super) heavy: bool,
}

impl Signs {
    /// The signs at the beginning.
    pub(super) fn begin(met: Met, machine: OnMachine) -> Self {
        Self { met, others: machine.least(machine), ..Self::default() }
    }

    /// The signs at the next check.
    pub(super) fn next(self, bounds: &Bounds, met: Met, machine: OnMachine) -> Self {
        let others = self.others.least(machine);
        let (refused, killed) = (met.refused > self.met.refused, met.kills > self.met.kills);
        // Counting takes a moment, and other processes may have ended meanwhile.
        let is_near = |grown: u64, most: u64| grown >= most - most / CROWD_PART;
        let most = bounds.processes.map_or(u64::MAX, u64::from);
        // Others may have ended while as many started; those in the runner's namespace are all its own.
        let tasks = (machine.tasks - others.tasks).max(machine.own_processes);
        let taken_bytes = machine.memory_bytes - others.memory_bytes;
        let uncounted_looks = self.uncounted_looks.saturating_add(1);
        // Others may free what commands use. Counting looks at every process, and a crowd close to its limit would hold it up for
        // seconds, so that it is counted less often.
        let looks = if tasks < most / FEW_PROCESSES_PART { COUNTED_LOOKS } else { COUNTED_LOOKS_CROWD };
        let counts = bounds.counts_processes && bounds.processes.is_some()
            || bounds.counts_memory && bounds.memory.is_some();
        let is_due = counts && uncounted_looks >= looks;
        let is_heavy = |most: Bytes| is_due || taken_bytes >= most.0 / COUNTED_MEMORY_PART;
        Self {
            met,
            others,
            refused,
            refused_again: refused && self.refused,
            crowded: refused || bounds.counts_processes && is_near(tasks, most),
            killed,
            killed_again: killed && self.killed,
            many_files: is_near(machine.files - others.files, bounds.files.into()),
            uncounted_looks,
            is_due,
            heavy: bounds.counts_memory && bounds.memory.is_some_and(is_heavy),
        }
    }

    /// True if there may be a problem.
    pub(super) fn are_there(&self) -> bool {
        self.crowded || self.killed || self.many_files
    }

    pub(super) fn ask_for_a_count(&self) -> bool {
        self.are_there() || self.is_due || self.heavy
    }

    /// Records that the trees have been counted and are not to blame: the figures for the rest of the machine are more precise now.
    pub(super) fn counted(&mut self, usage: &[Usage], machine: OnMachine) {
        let total = |part: fn(&Usage) -> u64| usage.iter().map(part).sum::<u64>();
        let OnMachine { tasks, files, memory_bytes, .. } = &mut self.others;
        *tasks = (*tasks).max(machine.tasks.saturating_sub(total(|usage| usage.tasks)));
        if self.many_files {
            *files = (*files).max(machine.files.saturating_sub(total(|usage| usage.files)));
        }
        if self.is_due {
            self.uncounted_looks = 0;
        }
        if self.heavy {
            self.uncounted_looks = 0;
            let of_trees = total(|usage| usage.memory_bytes);
            *memory_bytes = (*memory_bytes).max(machine.memory_bytes.saturating_sub(of_trees));
        }
    }
}

/// The tree to end, and for which limit.
pub(super) fn judge(usage: &[Usage], signs: &Signs, bounds: &Bounds) -> Option<(Mark, MetLimit)> {
    let most_of = |part: fn(&Usage) -> u64| usage.iter().max_by_key(|usage| part(usage));
    let total = |part: fn(&Usage) -> u64| usage.iter().map(part).sum::<u64>();
    if let Some(most) = bounds.processes {
        let tasks = total(|usage| usage.tasks);
        // A crowd whose forks the kernel refused may have ended by itself meanwhile.
        let is_full = signs.refused && tasks >= u64::from(most) / 2 || signs.refused_again;
        if is_full || bounds.counts_processes && tasks >= u64::from(most) {
            let blamed = most_of(|usage| usage.tasks)?;
            return Some((blamed.mark, MetLimit::Processes(most)));
        }
    }
    if let Some(most) = bounds.memory
        && (signs.killed || bounds.counts_memory && total(|usage| usage.memory_bytes) > most.0)
    {
        let blamed = most_of(|usage| usage.memory_bytes)?;
        // Otherwise the kernel has killed the process that used it.
        if signs.killed_again || blamed.memory_bytes >= most.0 / BLAMED_MEMORY_PART {
            return Some((blamed.mark, MetLimit::Memory(most)));
        }
    }
    if signs.many_files && total(|usage| usage.files) >= bounds.files.into() {
        let blamed = most_of(|usage| usage.files)?;
        return Some((blamed.mark, MetLimit::Files(bounds.files)));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        processes: Some(100),
        memory: Some(Bytes(8_000)),
        files: 1_000,
        counts_processes: false,
        counts_memory: false,
    };
    const COUNTED: Bounds = Bounds { counts_processes: true, counts_memory: true, ..BOUNDS };

    fn usage(session: u32, tasks: u64, memory_bytes: u64, files: u64) -> Usage {
        Usage { mark: Mark::of_session(session), tasks, memory_bytes, files }
    }

    #[test]
    fn the_largest_tree_is_blamed_for_what_was_refused() {
        let refused = Signs { refused: true, ..Signs::default() };
        let trees = [usage(1, 9, 0, 0), usage(2, 80, 0, 0)];
        let blamed = Some((Mark::of_session(2), MetLimit::Processes(100)));
        assert_eq!(judge(&trees, &refused, &BOUNDS), blamed);
        assert_eq!(judge(&trees, &Signs::default(), &BOUNDS), None);
        let few = [usage(1, 9, 0, 0), usage(2, 10, 0, 0)];
        assert_eq!(judge(&few, &refused, &BOUNDS), None, "it has ended by itself");
        let again = Signs { refused_again: true, ..refused };
        assert_eq!(judge(&few, &again, &BOUNDS), blamed);
        assert_eq!(judge(&[], &again, &BOUNDS), None);
    }

    #[test]
    fn what_the_kernel_does_not_count_is_counted() {
        let none = Signs::default();
        assert_eq!(judge(&[usage(1, 99, 8_000, 0)], &none, &COUNTED), None);
        let crowd = [usage(1, 50, 0, 0), usage(2, 51, 0, 0)];
        let processes = Some((Mark::of_session(2), MetLimit::Processes(100)));
        assert_eq!(judge(&crowd, &none, &COUNTED), processes);
        let heavy = [usage(1, 1, 8_001, 0), usage(2, 50, 10, 0)];
        let memory = Some((Mark::of_session(1), MetLimit::Memory(Bytes(8_000))));
        assert_eq!(judge(&heavy, &none, &COUNTED), memory);
    }

    #[test]
    fn a_tree_that_takes_little_is_not_blamed_for_memory_or_files() {
        let killed = Signs { killed: true, ..Signs::default() };
        assert_eq!(judge(&[usage(1, 1, 999, 0)], &killed, &BOUNDS), None);
        let blamed = judge(&[usage(1, 1, 1_000, 0)], &killed, &BOUNDS);
        assert_eq!(blamed, Some((Mark::of_session(1), MetLimit::Memory(Bytes(8_000)))));
        let again = Signs { killed_again: true, ..killed };
        assert!(
            judge(&[usage(1, 1, 9, 0)], &again, &BOUNDS).is_some(),
            "what it takes is not its own memory"
        );
        let many = Signs { many_files: true, ..Signs::default() };
        assert_eq!(judge(&[usage(1, 1, 0, 999)], &many, &BOUNDS), None);
        let blamed = judge(&[usage(1, 1, 0, 600), usage(2, 1, 0, 400)], &many, &BOUNDS);
        assert_eq!(blamed, Some((Mark::of_session(1), MetLimit::Files(1_000))));
    }

    #[test]
    fn signs_are_what_came_since_the_last_look() {
        let machine = |tasks, files| OnMachine { tasks, files, ..OnMachine::default() };
        let begun = Signs::begin(Met { refused: 2, kills: 0 }, machine(500, 70));
        let first = begun.next(&BOUNDS, Met { refused: 3, kills: 0 }, machine(500, 70));
        assert!(first.refused && first.crowded && !first.refused_again && !first.killed);
        let second = first.next(&BOUNDS, Met { refused: 4, kills: 1 }, machine(500, 1_070));
        assert!(second.refused_again && second.killed && !second.killed_again && second.many_files);
        let third = second.next(&BOUNDS, Met { refused: 4, kills: 2 }, machine(900, 700));
        assert!(third.killed_again && !third.crowded && !third.many_files);
        let fourth = third.next(&BOUNDS, Met { refused: 4, kills: 2 }, machine(900, 700));
        assert!(!fourth.are_there() && !fourth.ask_for_a_count());
    }

    #[test]
    fn a_machine_with_many_more_processes_is_counted_and_others_are_learnt() {
        let machine = |tasks| OnMachine { tasks, ..OnMachine::default() };
        let begun = Signs::begin(Met::default(), machine(500));
        let next = |signs: Signs, tasks| signs.next(&COUNTED, Met::default(), machine(tasks));
        assert!(!next(begun, 580).crowded);
        let mut crowded = next(begun, 595);
        assert!(crowded.crowded && crowded.ask_for_a_count());
        crowded.counted(&[usage(1, 10, 0, 0)], machine(595));
        assert!(!next(crowded, 595).crowded, "the others are 585");
        assert!(next(crowded, 680).crowded);
        assert!(next(next(crowded, 100), 195).crowded, "the others have become fewer");
        let own = |own_processes| OnMachine { own_processes, ..machine(500) };
        assert!(begun.next(&COUNTED, Met::default(), own(94)).crowded, "as many others have ended");
        assert!(!begun.next(&COUNTED, Met::default(), own(93)).crowded);
        assert!(!begun.next(&BOUNDS, Met::default(), own(99)).crowded, "the kernel counts");
    }

    #[test]
    fn memory_is_counted_once_the_machine_has_so_much_less_and_others_are_learnt() {
        let machine = |memory_bytes| OnMachine { memory_bytes, ..OnMachine::default() };
        let begun = Signs::begin(Met::default(), machine(50_000));
        let next =
            |signs: Signs, bounds, memory_bytes| signs.next(bounds, Met::default(), machine(memory_bytes));
        assert!(!next(begun, &COUNTED, 53_999).ask_for_a_count());
        assert!(!next(begun, &BOUNDS, 90_000).ask_for_a_count(), "the kernel counts");
        let mut heavy = next(begun, &COUNTED, 54_000);
        assert!(heavy.heavy && heavy.ask_for_a_count() && !heavy.are_there());
        heavy.counted(&[usage(1, 1, 1_000, 0)], machine(54_000));
        assert!(!next(heavy, &COUNTED, 56_999).heavy, "the others have 53,000");
        assert!(next(heavy, &COUNTED, 57_000).heavy);
        assert!(next(next(heavy, &COUNTED, 20_000), &COUNTED, 24_000).heavy, "the others have less");
    }

    #[test]
    fn what_only_the_runner_counts_is_counted_now_and_then_and_less_often_beside_a_crowd() {
        let looks = |tasks, bounds: &Bounds| {
            let machine = OnMachine { tasks, ..OnMachine::default() };
            let next = |signs: &Signs| Some(signs.next(bounds, Met::default(), machine));
            let all = std::iter::successors(Some(Signs::default()), next);
            all.take(2 * COUNTED_LOOKS_CROWD as usize).position(|signs| signs.ask_for_a_count())
        };
        let (often, seldom) = (Some(COUNTED_LOOKS as usize), Some(COUNTED_LOOKS_CROWD as usize));
        assert_eq!(looks(24, &COUNTED), often);
        assert_eq!(looks(25, &COUNTED), seldom);
        assert_eq!(looks(1_000, &Bounds { processes: None, ..COUNTED }), often);
        assert_eq!(looks(24, &Bounds { counts_memory: false, ..COUNTED }), often);
        assert_eq!(looks(24, &BOUNDS), None);
        let due = Signs { is_due: true, uncounted_looks: COUNTED_LOOKS, ..Signs::default() };
        for mut due in [due, Signs { heavy: true, ..due }] {
            due.counted(&[], OnMachine::default());
            assert!(!due.next(&COUNTED, Met::default(), OnMachine::default()).ask_for_a_count());
        }
    }

    #[test]
    fn a_crowd_that_grows_while_another_one_dies_is_seen() {
        let machine = |tasks, own_processes| OnMachine { tasks, own_processes, ..OnMachine::default() };
        let next = |signs: Signs, tasks, own| signs.next(&COUNTED, Met::default(), machine(tasks, own));
        // 90 processes are dying, and threads take their place one by one.
        let begun = Signs::begin(Met::default(), machine(590, 90));
        let grown = [(590, 60), (591, 30), (592, 1)]
            .into_iter()
            .fold(begun, |signs, (tasks, own)| next(signs, tasks, own));
        assert!(!grown.crowded, "it has 92 of 100");
        assert!(next(grown, 595, 1).crowded);
    }

    #[test]
    fn a_limit_is_told_in_words_with_its_option() {
        assert_eq!(
            MetLimit::Processes(2_048).to_string(),
            "ended by the runner: it reached the limit of 2,048 processes for all commands together (--pids)"
        );
        assert!(MetLimit::Memory(Bytes(1 << 30)).to_string().contains("1 GiB of memory"));
        assert!(MetLimit::Files(7).to_string().contains("--open-files"));
    }
}
