//! Every rule, one by one: what a step did, what happened since, and what comes of undoing the step.

use herma_diff::testing::numbered_lines;
use herma_store::object::EntryMode;
use herma_worktree::reason::Reason;

use super::testing::{LABELS, State, Undo, World, path, result};
use super::{
    Conflict, ConflictWhy, Conflicts, Content, Decided, Outcome, Request, Reversed, Run, compose,
    other_modes, reverse,
};

const ALL: [Conflicts; 4] =
    [Conflicts::Leave, Conflicts::Ours, Conflicts::Theirs, Conflicts::Markers];

fn lines(count: u32) -> String {
    numbered_lines(0..count, |n| format!("line {n}"))
}

fn conflict(at: &str, why: ConflictWhy, decided: Decided) -> Conflict {
    Conflict { path: path(at), why, decided }
}

/// Undoes a step; nothing may be in conflict.
fn clean(from: &World, to: &World, present: &World) -> World {
    let (world, reversed) = Undo::of(from, to, present).run();
    assert_eq!(reversed.conflicts, []);
    world
}

/// Undoes a step in every way. All but "theirs" must leave the project as it is; returns what
/// "theirs" makes of it.
fn whole_conflict(from: &World, to: &World, present: &World, at: &str, why: &ConflictWhy) -> World {
    let mut theirs = None;
    for conflicts in ALL {
        let (world, reversed) = Undo::of(from, to, present).with(conflicts).run();
        let decided = match conflicts {
            Conflicts::Leave | Conflicts::Markers => Decided::Left,
            Conflicts::Ours => Decided::Ours,
            Conflicts::Theirs => Decided::Theirs,
        };
        assert_eq!(reversed.conflicts, [conflict(at, why.clone(), decided)]);
        if conflicts == Conflicts::Theirs {
            theirs = Some(world);
        } else {
            assert_eq!(&world, present, "{conflicts:?}");
            assert_eq!(reversed.changes.len(), 0);
        }
    }
    theirs.unwrap()
}

#[test]
fn other_modes_are_those_of_files_that_are_otherwise_the_same() {
    let one = World::new().file("mode", "1\n").file("both", "1\n").file("content", "1\n");
    let other = one.clone().file("both", "2\n").file("content", "2\n");
    let other = other.mode("mode", 0o600).mode("both", 0o600);
    let (one, other) = (State::of(&one), State::of(&other));
    assert_eq!(other_modes(one.view(), other.view()).unwrap(), [path("mode")]);
}

#[test]
fn with_nothing_since_the_result_is_the_state_before() {
    let from = World::new()
        .file("edited", "old\n")
        .file("deleted/deep/file", "1\n")
        .file("moved", lines(9))
        .file("tool", "run\n")
        .mode("tool", 0o700)
        .link("link", "a")
        .file("becomes/dir", "1")
        .file("plain", "2")
        .directory("empty/one");
    let to = from
        .clone()
        .file("edited", "new\n")
        .remove("deleted")
        .rename("moved", "elsewhere/moved")
        .mode("tool", 0o600)
        .link("link", "b")
        .remove("becomes")
        .file("becomes", "a file now")
        .remove("plain")
        .file("plain/x", "a directory now")
        .remove("empty")
        .directory("other/empty")
        .file("made/by/agent", "x");
    assert_eq!(clean(&from, &to, &to), from);
    assert_eq!(clean(&to, &from, &from), to);
}

#[test]
fn what_came_after_stays() {
    let from = World::new().file("a", "1\n").file("b", "1\n");
    let to = from.clone().file("a", "2\n").file("new", "x\n");
    let present = to.clone().file("b", "mine\n").file("also/mine", "y\n").mode("b", 0o600);
    let expected = present.clone().file("a", "1\n").remove("new");
    assert_eq!(clean(&from, &to, &present), expected);
}

#[test]
fn lines_of_both_are_merged_in_one_file() {
    let from = World::new().file("f", lines(20));
    let to = World::new().file("f", lines(20).replace("line 3\n", "agent\n"));
    let edited = |text: String| text.replace("line 15\n", "mine\n");
    let present =
        World::new().file("f", edited(lines(20).replace("line 3\n", "agent\n"))).mode("f", 0o755);
    let (world, reversed) = Undo::of(&from, &to, &present).run();
    assert_eq!(world, World::new().file("f", edited(lines(20))).mode("f", 0o755));
    assert_eq!(reversed.merged, [path("f")]);
    assert_eq!(reversed.conflicts, []);
}

#[test]
fn the_same_line_changed_twice_is_a_conflict() {
    let text =
        |line: &str, far: &str| lines(20).replace("line 3\n", line).replace("line 15\n", far);
    let from = World::new().file("f", lines(20));
    let to = World::new().file("f", text("agent\n", "agent\n"));
    let present = World::new().file("f", text("mine\n", "agent\n"));
    let marked = "<<<<<<< now\nmine\n=======\nline 3\n>>>>>>> before\n";
    let cases = [
        (Conflicts::Leave, Decided::Left, text("mine\n", "agent\n")),
        (Conflicts::Ours, Decided::Ours, text("mine\n", "line 15\n")),
        (Conflicts::Theirs, Decided::Theirs, lines(20)),
        (Conflicts::Markers, Decided::Markers, text(marked, "line 15\n")),
    ];
    for (conflicts, decided, expected) in cases {
        let (world, reversed) = Undo::of(&from, &to, &present).with(conflicts).run();
        assert_eq!(world, World::new().file("f", expected), "{conflicts:?}");
        let why = ConflictWhy::Text { lines: vec![(4, 4)] };
        assert_eq!(reversed.conflicts, [conflict("f", why, decided)]);
    }
}

#[test]
fn what_has_no_lines_is_taken_or_left_as_a_whole() {
    let file = |content: &str| World::new().file("f", content);
    let theirs =
        whole_conflict(&file("a\0"), &file("b\0"), &file("c\0"), "f", &ConflictWhy::Binary);
    assert_eq!(theirs, file("a\0"));
    let link = |target: &str| World::new().link("f", target);
    let theirs = whole_conflict(&link("a"), &link("b"), &link("c"), "f", &ConflictWhy::Link);
    assert_eq!(theirs, link("a"));
    let why = ConflictWhy::TypeChanged;
    let theirs = whole_conflict(&file("a\n"), &file("b\n"), &link("c"), "f", &why);
    assert_eq!(theirs, file("a\n"));
}

#[test]
fn a_file_the_step_made_stays_if_it_was_changed_since() {
    let from = World::new().file("other", "1");
    let to = from.clone().file("dir/made", "agent\n");
    let present = to.clone().file("dir/made", "agent\nmine\n");
    let why = ConflictWhy::ChangedLater;
    let theirs = whole_conflict(&from, &to, &present, "dir/made", &why);
    assert_eq!(theirs, from);
    let executable = to.clone().mode("dir/made", 0o755);
    whole_conflict(&from, &to, &executable, "dir/made", &why);
    // Whoever moves a file wants it.
    let moved = to.clone().rename("dir/made", "dir/wanted");
    whole_conflict(&from, &to, &moved, "dir/wanted", &why);
}

#[test]
fn a_file_the_step_deleted_does_not_replace_another() {
    let from = World::new().file("f", "old\n");
    let to = World::new();
    let present = World::new().link("f", "elsewhere");
    let theirs = whole_conflict(&from, &to, &present, "f", &ConflictWhy::Reappeared);
    assert_eq!(theirs, from);

    let present = World::new().file("f", "mine\n");
    let undo = Undo::of(&from, &to, &present);
    let (world, reversed) = undo.with(Conflicts::Markers).run();
    let marked = "<<<<<<< now\nmine\n=======\nold\n>>>>>>> before\n";
    assert_eq!(world, World::new().file("f", marked));
    let why = ConflictWhy::Reappeared;
    assert_eq!(reversed.conflicts, [conflict("f", why, Decided::Markers)]);
    // Somebody brought it back already.
    assert_eq!(clean(&from, &to, &from), from);
}

#[test]
fn a_file_deleted_since_stays_deleted() {
    let from = World::new().file("d/f", "old\n").file("d/g", "1");
    let to = from.clone().file("d/f", "agent\n");
    let present = to.clone().remove("d/f");
    let why = ConflictWhy::DeletedLater;
    let theirs = whole_conflict(&from, &to, &present, "d/f", &why);
    assert_eq!(theirs, from);
    let none = to.clone().remove("d");
    assert_eq!(whole_conflict(&from, &to, &none, "d/f", &why).files.len(), 1);
    // Permissions alone are nothing to bring a file back for.
    let to = from.clone().mode("d/f", 0o600);
    assert_eq!(clean(&from, &to, &present), present);
    // Both deleted it.
    let to = from.clone().file("new", "x");
    assert_eq!(clean(&from, &to, &from), from);
}

#[test]
fn permissions_are_merged_apart_from_contents() {
    let from = World::new().file("f", lines(9)).file("g", "1\n");
    let to = from.clone().mode("f", 0o755).file("g", "2\n").mode("g", 0o600);
    let present = to.clone().file("f", lines(10)).mode("g", 0o640);
    let (world, reversed) = Undo::of(&from, &to, &present).run();
    let expected = World::new().file("f", lines(10)).file("g", "1\n");
    // A file is left alone as a whole.
    let left = World::new().file("f", lines(10)).file("g", "2\n");
    assert_eq!(world, left.mode("g", 0o640));
    let mode = |decided| [conflict("g", ConflictWhy::Mode, decided)];
    assert_eq!(reversed.conflicts, mode(Decided::Left));
    let undo = Undo::of(&from, &to, &present).with(Conflicts::Ours);
    assert_eq!(undo.run().0, expected.clone().mode("g", 0o640));
    let undo = Undo::of(&from, &to, &present).with(Conflicts::Theirs);
    let (world, reversed) = undo.run();
    assert_eq!(world, expected);
    assert_eq!(reversed.conflicts, mode(Decided::Theirs));
}

#[test]
fn the_root_directorys_mode_and_all_that_follow_from_it_come_back() {
    let from = World::new().file("a", "1").file("d/b", "2").mode("d/b", 0o755).directory("e");
    let to = ["", "d", "e"].iter().fold(from.clone(), |world, dir| world.mode(dir, 0o700));
    let to = to.mode("a", 0o600).mode("d/b", 0o700);
    assert_eq!(clean(&from, &to, &to), from);
    let present = to.clone().file("mine", "3").mode("e", 0o750);
    let (world, reversed) = Undo::of(&from, &to, &present).run();
    assert_eq!(world, from.clone().file("mine", "3").mode("e", 0o750));
    assert_eq!(reversed.conflicts, [conflict("e", ConflictWhy::Mode, Decided::Left)]);
    let sticky = from.clone().mode("", 0o1755).mode("d", 0o1777);
    assert_eq!(clean(&from, &sticky, &sticky), from);
    assert_eq!(clean(&sticky, &from, &from), sticky);
}

#[test]
fn a_directory_goes_when_nothing_is_left_in_it() {
    let from = World::new();
    let to = from.clone().file("a/b/c", "1").directory("a/e").file("k/x", "1");
    let present = to.clone().file("a/mine", "2").directory("k/mine");
    let expected = World::new().file("a/mine", "2").directory("k/mine");
    assert_eq!(clean(&from, &to, &present), expected);
    let present = to.clone().left_out("a/b/secret");
    assert_eq!(clean(&from, &to, &present), World::new().left_out("a/b/secret"));
}

#[test]
fn a_directory_everyone_has_stays_even_when_it_is_empty() {
    let from = World::new().file("d/theirs", "1");
    let to = from.clone().file("d/made", "2");
    let present = to.clone().remove("d/theirs");
    assert_eq!(clean(&from, &to, &present), World::new().directory("d"));
    let from = World::new().directory("d");
    let to = from.clone().file("d/made", "2");
    assert_eq!(clean(&from, &to, &to), from);
}

#[test]
fn files_and_directories_in_each_others_way_are_left_alone() {
    let from = World::new().file("f", "1\n").file("d/x", "2\n");
    let to = World::new();
    let present = World::new().file("f/mine", "3\n").file("d", "4\n");
    for conflicts in ALL {
        let (world, reversed) = Undo::of(&from, &to, &present).with(conflicts).run();
        assert_eq!(world, present, "{conflicts:?}");
        let in_the_way = |at| conflict(at, ConflictWhy::InTheWay, Decided::Left);
        assert_eq!(reversed.conflicts, [in_the_way("d/x"), in_the_way("f")]);
    }
    let present = World::new().directory("f").directory("d");
    let (world, reversed) = Undo::of(&from, &to, &present).run();
    assert_eq!(world, present.clone().file("d/x", "2\n"));
    assert_eq!(reversed.conflicts.len(), 1);
    // An empty directory cannot come back either.
    let from = World::new().directory("e");
    let present = World::new().file("e", "mine\n");
    let (world, reversed) = Undo::of(&from, &to, &present).run();
    assert_eq!(world, present);
    let why = ConflictWhy::InTheWay;
    assert_eq!(reversed.conflicts, [conflict("e", why, Decided::Left)]);
    assert_eq!(reversed.left.into_iter().collect::<Vec<_>>(), [(path("e"), path("e"))]);
}

#[test]
fn what_has_no_lines_is_in_no_conflict_where_only_one_side_changed_it() {
    let file = |content: &str| World::new().file("f", content);
    // The step changed only who may execute it.
    let (from, to) = (file("a\0"), file("a\0").mode("f", 0o755));
    assert_eq!(clean(&from, &to, &file("c\0").mode("f", 0o755)), file("c\0"));
    // Somebody has undone it by hand.
    assert_eq!(clean(&file("a\0"), &file("b\0"), &file("a\0")), file("a\0"));
}

#[test]
fn what_no_save_holds_is_never_replaced() {
    let from = World::new().file("f", "1\n").file("d/x", "2\n");
    let to = World::new();
    let present = World::new().left_out("f/secret");
    let (world, reversed) = Undo::of(&from, &to, &present).run();
    assert_eq!(world, present.clone().file("d/x", "2\n"));
    assert_eq!(reversed.conflicts.len(), 1);
}

#[test]
fn what_a_state_says_nothing_about_is_kept() {
    let from = World::new().file("a", "1\n").file("dir/b", "1\n").file("c", "1\n");
    let to = from.clone().remove("a").file("dir/b", "2\n").remove("c");
    let present = World::new().file("dir/b", "2\n");
    for which in 0..3 {
        let mut states = [State::of(&from), State::of(&to), State::of(&present)];
        states[which].left_out =
            [(b"a".to_vec(), Reason::TooLarge), (b"dir".to_vec(), Reason::Ignored)].into();
        let reversed = reverse(&Request {
            present: states[2].view(),
            runs: &[Run { from: states[0].view(), to: states[1].view() }],
            scope: &[],
            conflicts: Conflicts::Theirs,
            labels: LABELS,
        })
        .unwrap();
        let kept = [(path("a"), Reason::TooLarge), (path("dir/b"), Reason::Ignored)];
        assert_eq!(reversed.kept, kept);
        let changed: Vec<_> = reversed.changes.keys().cloned().collect();
        assert_eq!(changed, [path("c")]);
    }
}

#[test]
fn a_move_is_undone_with_what_was_edited_since() {
    let from = World::new().file("old/a", lines(20)).file("old/b", "stays\n");
    let to = from.clone().rename("old/a", "new/a").mode("new", 0o700);
    let present = to.clone().file("new/a", lines(21));
    let (world, reversed) = Undo::of(&from, &to, &present).run();
    assert_eq!(world, from.clone().file("old/a", lines(21)));
    assert_eq!(reversed.renamed, [(path("new/a"), path("old/a"))]);
    assert_eq!(reversed.conflicts, []);
    let moved = Outcome::File {
        mode: EntryMode::File,
        content: Content::Present(
            herma_store::object::id_of(herma_store::object::Kind::Blob, lines(21).as_bytes())
                .unwrap(),
        ),
        full_mode: 0o644,
    };
    assert_eq!(reversed.changes[&path("old/a")], moved);
    // The step edited it as well.
    let to = to.file("new/a", lines(20).replace("line 2\n", "agent\n"));
    let present = to.clone().file("new/a", lines(21).replace("line 2\n", "agent\n"));
    let (world, reversed) = Undo::of(&from, &to, &present).run();
    assert_eq!(world, from.clone().file("old/a", lines(21)));
    assert_eq!(reversed.merged, [path("old/a")]);
}

#[test]
fn a_change_follows_a_file_that_was_moved_since() {
    let from = World::new().file("a", lines(20));
    let to = World::new().file("a", lines(20).replace("line 2\n", "agent\n"));
    let present = to.clone().rename("a", "lib/b");
    assert_eq!(clean(&from, &to, &present), from.clone().rename("a", "lib/b"));
    // Permissions follow too.
    let to = from.clone().mode("a", 0o600);
    let present = to.clone().rename("a", "b");
    assert_eq!(clean(&from, &to, &present), from.clone().rename("a", "b"));
}

#[test]
fn a_file_moved_on_since_stays_there() {
    let from = World::new().file("a", lines(20));
    let to = World::new().file("b", lines(20).replace("line 2\n", "agent\n"));
    let present = to.clone().rename("b", "c");
    let (world, reversed) = Undo::of(&from, &to, &present).run();
    assert_eq!(world, present);
    let why = ConflictWhy::MovedLater { from: path("a") };
    assert_eq!(reversed.conflicts, [conflict("c", why, Decided::Left)]);
    let (world, _) = Undo::of(&from, &to, &present).with(Conflicts::Ours).run();
    assert_eq!(world, World::new().file("c", lines(20)));
    let (world, _) = Undo::of(&from, &to, &present).with(Conflicts::Theirs).run();
    assert_eq!(world, from);
    // Somebody moved it back already.
    assert_eq!(clean(&from, &to, &to.clone().rename("b", "a")), from);
}

#[test]
fn a_move_back_onto_something_else_is_a_conflict() {
    let from = World::new().file("a", lines(20));
    let to = World::new().file("b", lines(20));
    let present = to.clone().file("a", "mine\n");
    let why = ConflictWhy::Occupied { by_now: path("b") };
    let theirs = whole_conflict(&from, &to, &present, "a", &why);
    assert_eq!(theirs, from);
    let (world, reversed) = Undo::of(&from, &to, &to.clone().file("a/x", "mine\n")).run();
    assert_eq!(world, to.clone().file("a/x", "mine\n"));
    assert_eq!(reversed.conflicts.len(), 1);
    assert_eq!(reversed.renamed, []);
}

#[test]
fn only_what_is_in_the_scope_changes() {
    let from = World::new().file("a/x", "1\n").file("b/y", "1\n").file("m/old", lines(20));
    let to = from
        .clone()
        .file("a/x", "2\n")
        .file("b/y", "2\n")
        .file("a/made/z", "1\n")
        .rename("m/old", "n/new");
    let (world, _) = Undo::of(&from, &to, &to).within(&["a"]).run();
    assert_eq!(world, to.clone().file("a/x", "1\n").remove("a/made"));
    let (world, _) = Undo::of(&from, &to, &to).within(&["n/new"]).run();
    assert_eq!(world, to.clone().rename("n/new", "m/old"));
    // What was not asked for stays.
    let (world, reversed) = Undo::of(&from, &to, &to).within(&["m"]).run();
    assert_eq!(world, to.clone().file("m/old", lines(20)));
    assert_eq!(reversed.renamed, []);
    let (world, _) = Undo::of(&from, &to, &to).within(&["a/made/z"]).run();
    assert_eq!(world, to.clone().remove("a/made/z"));
}

#[test]
fn checkpoints_of_hermes_know_only_who_may_execute() {
    let from = World::new().file("f", "1\n").file("g", "1\n").file("h", "1\n");
    let to = from.clone().mode("f", 0o755).file("g", "2\n").mode("h", 0o600);
    let present = to.clone().mode("f", 0o750).mode("g", 0o640).directory("e");
    let states = [State::of_hermes(&from), State::of_hermes(&to), State::of(&present)];
    let reversed = reverse(&Request {
        present: states[2].view(),
        runs: &[Run { from: states[0].view(), to: states[1].view() }],
        scope: &[],
        conflicts: Conflicts::Leave,
        labels: LABELS,
    })
    .unwrap();
    let expected = present.clone().mode("f", 0o640).file("g", "1\n");
    assert_eq!(result(&present, &reversed, [&from, &to]), expected);
}

#[test]
fn a_nested_repository_is_never_written() {
    let none = World::new();
    let (old, new) = (none.clone().nested("sub", 1), none.clone().nested("sub", 2));
    let present = World::new().file("sub/code", "1\n");
    for (from, to) in [(&old, &new), (&old, &none), (&none, &new)] {
        let (world, reversed) = Undo::of(from, to, &present).with(Conflicts::Theirs).run();
        assert_eq!(world, present);
        let why = ConflictWhy::NestedRepository;
        assert_eq!(reversed.conflicts, [conflict("sub", why, Decided::Left)]);
    }
}

#[test]
fn runs_are_put_on_top_of_each_other() {
    let first = World::new().file("f", lines(20)).file("mine", "1\n");
    let one = first.clone().file("f", lines(20).replace("line 2\n", "agent\n")).file("made", "1\n");
    let between =
        one.clone().file("mine", "2\n").file("f", lines(21).replace("line 2\n", "agent\n"));
    let two = between
        .clone()
        .file("f", lines(21).replace("line 2\n", "agent\nagain\n"))
        .rename("made", "moved");
    let states = [&first, &one, &between, &two].map(State::of);
    let [from, one_after, two_before, two_after] = states.each_ref().map(State::view);
    let runs = [Run { from, to: one_after }, Run { from: two_before, to: two_after }];
    let composed: Reversed = compose(from, &runs, &[]).unwrap();
    assert_eq!(composed.conflicts, []);
    let expected = first
        .clone()
        .file("f", lines(20).replace("line 2\n", "agent\nagain\n"))
        .file("moved", "1\n");
    let composed = result(&first, &composed, [&one, &between, &two]);
    assert_eq!(composed, expected);
}

#[test]
fn a_file_that_one_run_conflicts_in_is_left_alone_in_every_run() {
    let first = World::new().file("f", lines(20)).file("g", "1\n");
    let one = first.clone().file("f", lines(20).replace("line 3\n", "one\n"));
    let text = |world: &World| String::from_utf8(world.files["f"].1.clone()).unwrap();
    let by_hand = one.clone().file("f", text(&one).replace("one\n", "hand\n"));
    let two =
        by_hand.clone().file("f", text(&by_hand).replace("line 15\n", "two\n")).file("g", "2\n");
    let undo = Undo::of_runs(&[(&by_hand, &two), (&first, &one)], &two);
    let (world, reversed) = undo.run();
    assert_eq!(world, two.clone().file("g", "1\n"));
    let why = ConflictWhy::Text { lines: vec![(4, 4)] };
    assert_eq!(reversed.conflicts, [conflict("f", why, Decided::Left)]);
    assert_eq!(reversed.left.get(&path("f")), Some(&path("f")));
    let (world, _) =
        Undo::of_runs(&[(&by_hand, &two), (&first, &one)], &two).with(Conflicts::Ours).run();
    assert_eq!(world, by_hand);
}
