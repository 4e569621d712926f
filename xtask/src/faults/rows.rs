//! The failure table, row by row: what goes wrong, what is run for it, and what that shows.

/// A row of the table, or one of the tests that belong to no row.
pub(super) struct Row {
    /// Its number, or its name.
    pub(super) key: &'static str,
    pub(super) title: &'static str,
    pub(super) steps: &'static [Step],
    pub(super) shows: &'static str,
}

/// Something to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Tests of a package.
    Tests {
        package: &'static str,
        /// The test binary.
        binary: &'static str,
        /// Parts of the names of tests; none means all.
        filters: &'static [&'static str],
    },
    /// A chore of this program, with its arguments in the size for every change and in full size.
    Chore { name: &'static str, small: &'static [&'static str], full: &'static [&'static str] },
}

const fn program(filters: &'static [&'static str]) -> Step {
    Step::Tests { package: "herma", binary: "faults", filters }
}

const fn engine(binary: &'static str, filters: &'static [&'static str]) -> Step {
    Step::Tests { package: "herma-core", binary, filters }
}

/// All ways to die of a save, before and after each call, and writes that are cut short.
const SAVES: Step = program(&["kill::the_first_save", "kill::a_save"]);
/// The same of what moves files, cleans and marks.
const MOVES: Step = program(&[
    "kill::a_cleaning",
    "kill::a_collection",
    "kill::a_drop",
    "kill::a_name",
    "kill::a_pin",
    "kill::a_purge",
    "kill::a_redo",
    "kill::a_restore",
    "kill::an_undo",
    "kill::the_end",
    "kill::the_reversal",
    "mcp::",
    "other_commands::",
    "resume::",
    "sessions::",
    "settings_files::",
    "transcript::",
]);
/// The same in projects that are wide, deep, hostile or big.
const SHAPES: Step = program(&["shape_kills::"]);
const ERRORS: Step = program(&["errors::"]);
const FULL_DISKS: Step = program(&["full_disk::"]);
const CROWD: Step = program(&["crowd::", "many::"]);
const FOREIGN: Step = program(&["foreign::"]);

pub(super) const ROWS: [Row; 28] = [
    Row {
        key: "1",
        title: "killed at any call of a save",
        steps: &[SAVES, SHAPES],
        shows: "five shapes: no damaged store, nothing acknowledged lost, nothing to do by hand",
    },
    Row {
        key: "2",
        title: "killed at any call of restore, undo, cleaning and the other commands",
        steps: &[MOVES, SHAPES, engine("engine", &["step_kills::", "legacy_kills::"])],
        shows: "old, new, or a mix that `restore --continue` finishes and `undo` reverses",
    },
    Row {
        key: "3",
        title: "killed just after a call, and short writes",
        steps: &[SAVES, MOVES, SHAPES],
        shows: "the same sweeps once more, one call later, and with every write cut in half",
    },
    Row {
        key: "4",
        title: "power cuts on a file system",
        steps: &[Step::Chore {
            name: "power",
            small: &["--cuts", "10", "--control", "4"],
            full: &["--cuts", "1700"],
        }],
        shows: "ext4 in three mounts: nothing damaged, nothing acknowledged lost; the control fails",
    },
    Row {
        key: "5",
        title: "power cuts with torn and reordered sectors",
        steps: &[program(&["crash"])],
        shows: "simulated power cuts at any moment; every sync that is made is needed",
    },
    Row {
        key: "6",
        title: "full disks and quotas",
        steps: &[ERRORS, FULL_DISKS],
        shows: "ENOSPC and EDQUOT at any call, disks that are really full: old state, named, cleaning works",
    },
    Row {
        key: "7",
        title: "input and output errors",
        steps: &[ERRORS],
        shows: "EIO at any call, syncs included: an error or the right result, never wrong bytes",
    },
    Row {
        key: "8",
        title: "no rights, read-only, too many open files, links in circles",
        steps: &[ERRORS, program(&["real_errors::", "rights::"])],
        shows: "named and exit 3, other files saved; a read-only store can be read",
    },
    Row {
        key: "9",
        title: "many writers beside cleaning",
        steps: &[CROWD],
        shows: "every acknowledged checkpoint restorable, no object missing, bounded waits",
    },
    Row {
        key: "10",
        title: "interleavings of threads",
        steps: &[Step::Chore {
            name: "interleavings",
            small: &["--schedules", "1000"],
            full: &["--schedules", "1000000"],
        }],
        shows: "what threads share, under orders of their steps that are tried one by one",
    },
    Row {
        key: "11",
        title: "killed while holding a lock",
        steps: &[program(&["killed_holders::"])],
        shows: "the next command works at once; no lock is left behind",
    },
    Row {
        key: "12",
        title: "wrong clocks",
        steps: &[engine("rows", &["clocks::"])],
        shows: "order and retention are those of a steady clock",
    },
    Row {
        key: "13",
        title: "hostile names",
        steps: &[engine("engine", &["names::"])],
        shows: "10,000 names come back to the byte",
    },
    Row {
        key: "14",
        title: "directories swapped for links during an operation",
        steps: &[engine("rows", &["swap::"]), engine("no_openat2", &[])],
        shows: "nothing outside is read, written or removed",
    },
    Row {
        key: "15",
        title: "crafted stores",
        steps: &[engine("engine", &["crafted::", "crafted_store::"])],
        shows: "refused or harmless, in bounded time and memory",
    },
    Row {
        key: "16",
        title: "bit rot; files of the store gone, cut, zeroed, replaced",
        steps: &[engine("rows", &["damage::"])],
        shows: "noticed and named; nothing that is on disk is lost, no wrong byte restored; the rest comes back",
    },
    Row {
        key: "17",
        title: "files that change while they are saved",
        steps: &[engine("rows", &["writers::"])],
        shows: "every file in a state it had, or named",
    },
    Row {
        key: "18",
        title: "changes that leave no trace in size and time",
        steps: &[engine("rows", &["invisible::"])],
        shows: "none is missed",
    },
    Row {
        key: "19",
        title: "huge trees",
        steps: &[Step::Chore {
            name: "huge",
            small: &["--files", "20000", "--sparse-gib", "1"],
            full: &[],
        }],
        shows: "a million files, 20 GiB, 2,000 levels: done, with bounded memory",
    },
    Row {
        key: "20",
        title: "special files",
        steps: &[engine("engine", &["special::"])],
        shows: "pipes, sockets, devices and mount points are named, never opened, never entered",
    },
    Row {
        key: "21",
        title: "stores on foreign file systems",
        steps: &[FOREIGN],
        shows: "without locks, with stale handles, with lost answers: works, or refuses and says why",
    },
    Row {
        key: "22",
        title: "stores of other versions",
        steps: &[engine("rows", &["old_stores::"])],
        shows: "older ones are read, newer ones refused, neither is touched",
    },
    Row {
        key: "23",
        title: "signals, closed pipes, little memory",
        steps: &[program(&["signals::", "memory::"])],
        shows: "exit 130, nothing left behind; what was done is done, read or not",
    },
    Row {
        key: "24",
        title: "file systems that do not tell upper case from lower",
        steps: &[FOREIGN],
        shows: "names that collide are reported before anything is written",
    },
    Row {
        key: "25",
        title: "limits of the disk",
        steps: &[program(&["cap::"])],
        shows: "the store never has more than its limit and one checkpoint",
    },
    Row {
        key: "model",
        title: "random commands against a model",
        steps: &[engine(
            "engine",
            &["model::", "oracle::", "cleaning_crowd::", "cleaning_plans::"],
        )],
        shows: "files, lists and checkpoints are what a map says, crashes included",
    },
    Row {
        key: "fuzz",
        title: "input that nobody meant",
        steps: &[Step::Chore { name: "fuzz", small: &["--replay"], full: &[] }],
        shows: "no parser panics, hangs or takes too much memory",
    },
    Row {
        key: "mutants",
        title: "code that keeps a promise changed, one thing at a time",
        steps: &[Step::Chore { name: "mutants", small: &["--sample", "20"], full: &[] }],
        shows: "a test turns red for nine of ten, and the others are known",
    },
];
