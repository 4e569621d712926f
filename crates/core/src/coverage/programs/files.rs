//! Programs whose arguments are the files they change.

use super::ODD_OPTIONS;
use super::modes;
use super::sizes;
use crate::coverage::options::Argument;
use crate::coverage::options::Options;
use crate::coverage::scene::Landing;
use crate::coverage::scene::Linking;
use crate::coverage::scene::Scene;

/// Notes what one of these programs changes; `false` if it is none of them.
pub(super) fn effects(scene: &mut Scene<'_, '_>, name: &str, arguments: &[Argument]) -> bool {
    let understood = match name {
        "rm" | "unlink" | "shred" => remove(scene, name, arguments),
        "rmdir" => rmdir(scene, arguments),
        "mv" => transfer(scene, &MV, Transfer::Move, arguments),
        "cp" => transfer(scene, &CP, Transfer::Copy, arguments),
        "ln" => transfer(scene, &LN, Transfer::Link, arguments),
        "install" => transfer(scene, &INSTALL, Transfer::Install, arguments),
        "touch" => each(scene, &TOUCH, arguments, Scene::writes),
        "truncate" => sizes::truncate(scene, arguments),
        "fallocate" => sizes::fallocate(scene, arguments),
        "tee" => each(scene, &TEE, arguments, Scene::writes_output),
        "mkdir" => mkdir(scene, arguments),
        "chmod" => modes::chmod(scene, arguments),
        "chown" | "chgrp" | "setfacl" | "setfattr" | "chattr" | "xattr" => owners(scene, arguments),
        "dd" => sizes::dd(scene, arguments),
        _ => return false,
    };
    if understood.is_none() {
        scene.unknown(ODD_OPTIONS);
    }
    true
}

const RM: Options = Options {
    short: "rRfiIdvx",
    short_valued: "",
    long: &[
        "recursive",
        "force",
        "verbose",
        "dir",
        "one-file-system",
        "interactive",
        "no-preserve-root",
        "preserve-root",
    ],
    long_valued: &[],
};
const RMDIR: Options = Options {
    short: "pv",
    short_valued: "",
    long: &["parents", "verbose", "ignore-fail-on-non-empty"],
    long_valued: &[],
};
const MV: Options = Options {
    short: "finuvT",
    short_valued: "t",
    long: &[
        "force",
        "interactive",
        "no-clobber",
        "update",
        "verbose",
        "no-target-directory",
        "strip-trailing-slashes",
    ],
    long_valued: &["target-directory"],
};
const CP: Options = Options {
    short: "rRafinpuvTdPx",
    short_valued: "t",
    long: &[
        "recursive",
        "archive",
        "force",
        "interactive",
        "no-clobber",
        "update",
        "verbose",
        "no-dereference",
        "no-target-directory",
        "preserve",
        "reflink",
        "sparse",
        "one-file-system",
    ],
    long_valued: &["target-directory"],
};
const LN: Options = Options {
    short: "sfnrvTi",
    short_valued: "t",
    long: &[
        "symbolic",
        "force",
        "no-dereference",
        "relative",
        "verbose",
        "no-target-directory",
        "interactive",
    ],
    long_valued: &["target-directory"],
};
const INSTALL: Options = Options {
    short: "dDvpCcT",
    short_valued: "mt",
    long: &[
        "directory",
        "verbose",
        "preserve-timestamps",
        "compare",
        "no-target-directory",
    ],
    long_valued: &["mode", "target-directory"],
};
const TOUCH: Options = Options {
    short: "acmh",
    short_valued: "drt",
    long: &["no-create", "no-dereference"],
    long_valued: &["date", "reference", "time"],
};
const TEE: Options = Options {
    short: "aip",
    short_valued: "",
    long: &["append", "ignore-interrupts"],
    long_valued: &[],
};
const MKDIR: Options = Options {
    short: "pv",
    short_valued: "m",
    long: &["parents", "verbose"],
    long_valued: &["mode"],
};

/// Calls `change` for each operand.
fn each<'l, 'g>(
    scene: &mut Scene<'l, 'g>,
    options: &Options,
    arguments: &[Argument],
    mut change: impl FnMut(&mut Scene<'l, 'g>, &[u8]),
) -> Option<()> {
    for operand in options.parse(arguments)?.operands {
        change(scene, operand);
    }
    Some(())
}

fn remove(scene: &mut Scene<'_, '_>, name: &str, arguments: &[Argument]) -> Option<()> {
    if name == "shred" {
        const SHRED: Options = Options {
            short: "fuvzx",
            short_valued: "n",
            long: &["force", "remove", "verbose", "zero"],
            long_valued: &["iterations"],
        };
        return each(scene, &SHRED, arguments, Scene::writes);
    }
    each(scene, &RM, arguments, Scene::replaces)
}

fn mkdir(scene: &mut Scene<'_, '_>, arguments: &[Argument]) -> Option<()> {
    let parsed = MKDIR.parse(arguments)?;
    if parsed
        .value(&["m", "mode"])
        .is_some_and(|mode| modes::takes_rights(mode, true))
    {
        return None;
    }
    for operand in parsed.operands {
        scene.makes(operand, true);
    }
    Some(())
}

/// With `-p` the directories around go too, if that leaves them empty.
fn rmdir(scene: &mut Scene<'_, '_>, arguments: &[Argument]) -> Option<()> {
    let parsed = RMDIR.parse(arguments)?;
    let parents = parsed.has(&["p", "parents"]);
    for operand in parsed.operands {
        scene.makes(operand, true);
        let mut path = operand;
        while let Some(slash) = path
            .iter()
            .rposition(|byte| *byte == b'/')
            .filter(|_| parents)
        {
            path = &path[..slash];
            if !path.is_empty() {
                scene.makes(path, true);
            }
        }
    }
    Some(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Transfer {
    Move,
    Copy,
    Link,
    Install,
}

/// Options of `cp` that copy directories and links as what they are.
#[rustfmt::skip]
const KEEP_SHAPE: [&str; 8] = ["r", "R", "a", "d", "P", "recursive", "archive", "no-dereference"];

/// Programs with sources and a target.
fn transfer(
    scene: &mut Scene<'_, '_>,
    options: &Options,
    kind: Transfer,
    arguments: &[Argument],
) -> Option<()> {
    let parsed = options.parse(arguments)?;
    if kind == Transfer::Install && parsed.has(&["d", "directory"]) {
        for operand in parsed.operands {
            scene.makes(operand, true);
        }
        return Some(());
    }
    let keeps_shape = parsed.has(&KEEP_SHAPE);
    if parsed
        .value(&["m", "mode"])
        .is_some_and(|mode| modes::takes_rights(mode, false))
    {
        return None;
    }
    let exact_target = parsed.has(&["T", "no-target-directory"]);
    let mut sources = &parsed.operands[..];
    let target = match parsed.value(&["t", "target-directory"]) {
        Some(target) => target,
        // A link without a place goes into the present directory.
        None if kind == Transfer::Link && sources.len() == 1 => b".",
        None => {
            let (target, rest) = sources.split_last()?;
            sources = rest;
            target
        }
    };
    // A link to a directory is replaced, not entered.
    let enters = !(exact_target || kind == Transfer::Link && parsed.has(&["n", "no-dereference"]));
    for source in sources {
        if kind == Transfer::Move {
            scene.replaces(source);
        }
        let how = Landing {
            into_directory: enters,
            with_tree: kind == Transfer::Move || (kind == Transfer::Copy && keeps_shape),
            replaces: kind != Transfer::Copy,
        };
        if kind == Transfer::Link {
            let how = Linking {
                into_directory: enters,
                symbolic: parsed.has(&["s", "symbolic"]),
            };
            scene.lands_as_link(source, target, how);
        } else {
            scene.lands(source, target, how);
        }
    }
    Some(())
}

/// Owners and access lists are in no checkpoint.
fn owners(scene: &mut Scene<'_, '_>, arguments: &[Argument]) -> Option<()> {
    let words = arguments.iter().map(Option::as_ref);
    let words = words.collect::<Option<Vec<_>>>()?;
    let operands = words.iter().filter(|word| word.first() != Some(&b'-'));
    for file in operands.skip(1) {
        scene.not_kept(
            file,
            "checkpoints do not keep owners, access lists and attributes",
        );
    }
    Some(())
}
