//! `cargo xtask filesystems`: saves, restores and undos on real file systems, each in a file of its own.
//!
//! What this machine cannot mount is skipped, by name and with the reason. The rest has to work, with the store on a local disk
//! and with the store on the file system itself, unless that lets others write to it: then the store has to be refused. In each
//! project lie a directory that is bound there, a file system that is mounted there and a linked worktree, which nothing may touch.

use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::{Result, workspace};

/// So large an image is; most of it is never written. Nothing smaller is an xfs.
const IMAGE_BYTES: u64 = 400 << 20;

/// A file system, and the commands that make and mount it. `IMAGE`, `DEVICE`, which is a loop device of the image, and `AT` are put in.
struct Kind {
    name: &'static str,
    make: &'static [&'static str],
    /// Tried one after the other.
    mounts: &'static [&'static [&'static str]],
    /// Is it so sound that a store can be tried on it?
    is_sound: bool,
}

const KINDS: [Kind; 8] = [
    Kind {
        name: "ext4",
        make: &["mkfs.ext4", "-q", "-F", "IMAGE"],
        mounts: &[&["mount", "-o", "loop", "IMAGE", "AT"]],
        is_sound: true,
    },
    Kind {
        name: "xfs",
        make: &["mkfs.xfs", "-q", "IMAGE"],
        mounts: &[&["mount", "-o", "loop", "IMAGE", "AT"]],
        is_sound: true,
    },
    Kind {
        name: "btrfs",
        make: &["mkfs.btrfs", "-q", "IMAGE"],
        mounts: &[&["mount", "-o", "loop", "IMAGE", "AT"]],
        is_sound: true,
    },
    Kind {
        name: "tmpfs",
        make: &[],
        mounts: &[&["mount", "-t", "tmpfs", "tmpfs", "AT"]],
        is_sound: true,
    },
    Kind {
        name: "overlayfs",
        make: &["mkdir", "LOWER", "UPPER", "WORK"],
        mounts: &[&[
            "mount",
            "-t",
            "overlay",
            "overlay",
            "-o",
            "lowerdir=LOWER,upperdir=UPPER,workdir=WORK",
            "AT",
        ]],
        is_sound: true,
    },
    Kind {
        name: "exFAT",
        make: &["mkfs.exfat", "IMAGE"],
        mounts: &[&["mount", "-t", "exfat", "DEVICE", "AT"], &["mount.exfat-fuse", "DEVICE", "AT"]],
        is_sound: true,
    },
    Kind {
        name: "vfat",
        make: &["mkfs.vfat", "IMAGE"],
        mounts: &[
            &["mount", "-t", "vfat", "DEVICE", "AT"],
            &["fusefat", "-s", "-o", "rw+,hard_remove,attr_timeout=0", "IMAGE", "AT"],
        ],
        // fusefat destroys its tables when a file is emptied, written again and removed.
        is_sound: false,
    },
    Kind {
        name: "ntfs",
        make: &["mkfs.ntfs", "-F", "-Q", "IMAGE"],
        mounts: &[&["ntfs-3g", "IMAGE", "AT"]],
        is_sound: true,
    },
];

/// Does it all and prints a table.
pub fn run(args: &[String]) -> Result<()> {
    let herma = match args {
        [] => {
            workspace::run(workspace::cargo()?.args(["build", "-p", "herma"]))?;
            workspace::target()?.join("debug/herma")
        }
        [option, program] if option == "--herma" => PathBuf::from(program).canonicalize()?,
        _ => return Err("filesystems: only `--herma PATH` can be given".into()),
    };
    println!("| file system | by | result |");
    println!("|---|---|---|");
    for kind in &KINDS {
        let place = tempfile::tempdir()?;
        let (by, result) = match Mounted::new(kind, place.path(), IMAGE_BYTES) {
            Ok(mounted) => (mounted.by, try_out(&herma, kind, &mounted.at, place.path())?),
            Err(why) => ("-", format!("SKIPPED: {why}")),
        };
        println!("| {} | {by} | {result} |", kind.name);
    }
    Ok(())
}

/// A mounted file system. Dropping it unmounts it.
pub struct Mounted {
    /// Where it is.
    pub at: PathBuf,
    by: &'static str,
    device: Option<String>,
}

impl Mounted {
    /// The file system of this name, in an image of so many bytes below `place`.
    pub fn of(name: &str, place: &Path, bytes: u64) -> Result<Self> {
        let kind = KINDS.iter().find(|kind| kind.name == name).ok_or("no such file system")?;
        Self::new(kind, place, bytes)
    }

    fn new(kind: &Kind, place: &Path, bytes: u64) -> Result<Self> {
        let image = place.join("image");
        File::create(&image)?.set_len(bytes)?;
        let mut mounted = Self { at: place.join("mounted"), by: "-", device: None };
        fs::create_dir(&mounted.at)?;
        let needs_device = kind.mounts.concat().contains(&"DEVICE");
        if needs_device {
            let found = said(&["losetup", "-f", "--show", &image.display().to_string()])?;
            mounted.device = Some(found.trim().to_owned());
        }
        let fill_in = |words: &[&str]| -> Vec<String> {
            let at = |name: &str| place.join(name).display().to_string();
            let word = |word: &&str| {
                word.replace("IMAGE", &at("image"))
                    .replace("DEVICE", mounted.device.as_deref().unwrap_or_default())
                    .replace("LOWER", &at("lower"))
                    .replace("UPPER", &at("upper"))
                    .replace("WORK", &at("work"))
                    .replace("AT", &at("mounted"))
            };
            words.iter().map(word).collect()
        };
        if !kind.make.is_empty() {
            said(&fill_in(kind.make))?;
        }
        let mut why = String::new();
        for words in kind.mounts {
            match said(&fill_in(words)) {
                Ok(_) => {
                    mounted.by = words[0];
                    return Ok(mounted);
                }
                Err(error) => why = format!("{why}{error}; "),
            }
        }
        Err(why.trim_end_matches("; ").to_owned().into())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // It may not be mounted, and the device may be gone with it.
        if self.by != "-" {
            let _ = said(&["umount", &self.at.display().to_string()]);
        }
        if let Some(device) = &self.device {
            let _ = said(&["losetup", "-d", device]);
        }
    }
}

/// Runs a command; what it says, or why it did not work.
fn said(words: &[impl AsRef<str>]) -> Result<String> {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    let program = words[0];
    let output = Command::new(program).args(&words[1..]).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let first = text.lines().next().unwrap_or("it failed");
    Err(format!("{program}: {first}").into())
}

/// What is below a directory: content or target, and mode.
type Tree = BTreeMap<PathBuf, (Vec<u8>, u32)>;

/// Others' directories in a project: what is bound there, mounted there, and checked out there by git.
const FOREIGN: [&str; 3] = ["bound", "mounted", "worktree"];

/// What is in a project, with or without what is not its own.
fn tree(directory: &Path, is_whole: bool) -> Result<Tree> {
    let mut found = Tree::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(here) = pending.pop() {
        for entry in fs::read_dir(here)? {
            let path = entry?.path();
            if !is_whole && FOREIGN.iter().any(|name| path == directory.join(name)) {
                continue;
            }
            let stat = path.symlink_metadata()?;
            let content = if stat.is_symlink() {
                fs::read_link(&path)?.into_os_string().into_encoded_bytes()
            } else if stat.is_dir() {
                pending.push(path.clone());
                Vec::new()
            } else {
                fs::read(&path)?
            };
            found.insert(path, (content, stat.permissions().mode()));
        }
    }
    Ok(found)
}

/// A project on the file system, and a store here or there.
struct World<'a> {
    herma: &'a Path,
    project: PathBuf,
    home: PathBuf,
}

impl World<'_> {
    fn herma(&self, args: &[&str]) -> Result<Output> {
        let output = Command::new(self.herma)
            .args(args)
            .current_dir(&self.project)
            .env_clear()
            .env("HOME", &self.home)
            .env("HERMES_HOME", &self.home)
            .env("HERMA_NO_BACKGROUND", "1")
            .output()?;
        Ok(output)
    }

    /// Runs a command that has to work.
    fn works(&self, args: &[&str]) -> Result<String> {
        let output = self.herma(args)?;
        if output.status.success() {
            let said = [output.stdout, output.stderr].concat();
            return Ok(String::from_utf8_lossy(&said).into_owned());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let place = self.project.display();
        Err(format!("{place}: herma {}: {}", args.join(" "), text.trim()).into())
    }

    /// Runs a command that has to work but for what it names.
    fn works_in_part(&self, args: &[&str]) -> Result<String> {
        let output = self.herma(args)?;
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        match output.status.code() {
            Some(0 | 3) => Ok(said),
            _ => Err(format!("herma {}: {}", args.join(" "), said.trim()).into()),
        }
    }

    /// The project has to be in this state after a command, and what is others' as it was before.
    fn leads_to(&self, args: &[&str], expected: &Tree) -> Result<()> {
        let foreign = |tree: &mut Tree| {
            tree.retain(|path, _| FOREIGN.iter().any(|n| path.starts_with(self.project.join(n))));
        };
        let mut before = tree(&self.project, true)?;
        foreign(&mut before);
        self.works_in_part(args)?;
        let mut after = tree(&self.project, true)?;
        foreign(&mut after);
        if tree(&self.project, false)? == *expected && before == after {
            return Ok(());
        }
        let place = self.project.display();
        Err(format!("{place}: another state after herma {}", args.join(" ")).into())
    }

    fn write(&self, path: &str, text: &str) -> Result<()> {
        let path = self.project.join(path);
        fs::create_dir_all(path.parent().ok_or("a path in the project")?)?;
        // Not written over: see `is_sound`.
        if path.exists() {
            fs::remove_file(&path)?;
        }
        Ok(fs::write(path, text)?)
    }

    /// Two states, there and back again, with others' directories in the project.
    fn daily_work(&self) -> Result<()> {
        fs::create_dir(&self.project)?;
        let foreign = Foreign::in_project(&self.project)?;
        self.write("a.txt", "one\n")?;
        self.write("src/main.rs", "fn main() {}\n")?;
        self.write("gone/only.txt", "only in the first\n")?;
        // Where there are such names, links and modes, they are part of it.
        let _ = self.write("Name With Blanks \u{e9}", "x\n");
        let _ = std::os::unix::fs::symlink("a.txt", self.project.join("link"));
        let mode = fs::Permissions::from_mode(0o755);
        let _ = fs::set_permissions(self.project.join("src/main.rs"), mode);
        self.works_in_part(&["save"])?;
        let first = tree(&self.project, false)?;
        let again = self.works_in_part(&["save"])?;
        if !again.contains("Nothing changed") {
            return Err(format!("a second save saw changes: {again}").into());
        }
        for name in FOREIGN {
            self.write(&format!("{name}/theirs"), "changed by others\n")?;
        }
        self.write("a.txt", "two, and longer\n")?;
        self.write("new/deep/file", "new\n")?;
        fs::remove_dir_all(self.project.join("gone"))?;
        self.write("hollow", &"\0".repeat(200_000))?;
        self.works_in_part(&["save"])?;
        let second = tree(&self.project, false)?;
        self.leads_to(&["undo"], &first)?;
        self.leads_to(&["redo"], &second)?;
        self.leads_to(&["restore", "@-1"], &first)?;
        self.leads_to(&["undo"], &second)?;
        self.works(&["checkpoints", "gc"])?;
        self.works(&["checkpoints", "verify", "--read-data"])?;
        drop(foreign);
        fs::remove_dir_all(&self.project)?;
        self.leads_to_made_again(&second)
    }

    /// The project itself was deleted.
    fn leads_to_made_again(&self, expected: &Tree) -> Result<()> {
        let above = self.project.parent().ok_or("it lies in a directory")?;
        let elsewhere =
            World { herma: self.herma, project: above.to_owned(), home: self.home.clone() };
        elsewhere.works(&["-C", &self.project.display().to_string(), "undo"])?;
        if tree(&self.project, true)? == *expected {
            return Ok(());
        }
        Err("another state after the project was made again".into())
    }

    /// A project that was saved on a local disk comes to this file system, which may not take its names: they are said, and the
    /// rest is there.
    fn moves_in(&self, at: &Path) -> Result<&'static str> {
        const NAMES: [&str; 5] = ["plain", "with:colon", "di:r/in", "sub/caf\u{e9}", "sub/other"];
        fs::create_dir(&self.project)?;
        for name in NAMES {
            self.write(name, name)?;
        }
        self.works(&["save"])?;
        fs::create_dir(at)?;
        let bound = Unmounted::bind(at, &self.project)?;
        let said = self.works_in_part(&["restore", "@", "--all"])?;
        let is_said = |name: &str| said.contains(&format!("{name} (the file system does not take"));
        let mut refused = 0;
        for name in NAMES {
            match fs::read_to_string(self.project.join(name)) {
                Ok(text) if text == name => {}
                Err(_) if is_said(name) => refused += 1,
                found => return Err(format!("{name}: {found:?}, and said was {said}").into()),
            }
        }
        self.leads_to(&["undo"], &Tree::new())?;
        drop(bound);
        Ok(match refused {
            0 => "",
            _ => "; names it does not take are said",
        })
    }
}

/// Something mounted in a project. Dropping it unmounts it.
struct Unmounted(PathBuf);

impl Unmounted {
    fn bind(from: &Path, at: &Path) -> Result<Self> {
        let [from, to] = [from, at].map(|path| path.display().to_string());
        said(&["mount", "--bind", &from, &to])?;
        Ok(Self(at.to_owned()))
    }
}

impl Drop for Unmounted {
    fn drop(&mut self) {
        let _ = said(&["umount", &self.0.display().to_string()]);
    }
}

/// What in a project is not its own.
struct Foreign {
    _mounts: [Unmounted; 2],
    _elsewhere: tempfile::TempDir,
}

impl Foreign {
    fn in_project(project: &Path) -> Result<Self> {
        let elsewhere = tempfile::tempdir()?;
        for name in FOREIGN {
            fs::create_dir(project.join(name))?;
        }
        let [bound, mounted, worktree] = FOREIGN.map(|name| project.join(name));
        let bind = Unmounted::bind(elsewhere.path(), &bound)?;
        let place = mounted.display().to_string();
        said(&["mount", "-t", "tmpfs", "tmpfs", &place])?;
        let mount = Unmounted(mounted);
        fs::write(worktree.join(".git"), "gitdir: /elsewhere/.git/worktrees/w\n")?;
        for name in FOREIGN {
            fs::write(project.join(name).join("theirs"), "of others\n")?;
        }
        Ok(Self { _mounts: [bind, mount], _elsewhere: elsewhere })
    }
}

/// Works on a file system; what came of it, in words.
fn try_out(herma: &Path, kind: &Kind, at: &Path, place: &Path) -> Result<String> {
    let here = World { herma, project: at.join("project"), home: place.join("home") };
    fs::create_dir(&here.home)?;
    here.daily_work()?;
    let moving = World { herma, project: place.join("moving"), home: place.join("home") };
    let names = moving.moves_in(&at.join("moved"))?;
    if !kind.is_sound {
        return Ok(format!("all; no store was tried on it{names}"));
    }
    let there = World { herma, project: at.join("another"), home: at.join("home") };
    fs::create_dir(&there.home)?;
    let mode = at.join("home").metadata()?.permissions().mode();
    if mode & 0o022 == 0 {
        there.daily_work()?;
        return Ok(format!("all, also with the store on it{names}"));
    }
    fs::create_dir(&there.project)?;
    let refused = there.herma(&["save"])?;
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    if refused.status.code() == Some(1) && text.contains("can be written by other users") {
        let refused = "a store on it is refused, others may write there";
        return Ok(format!("all; {refused}{names}"));
    }
    Err(format!("a store that others may write to was taken: {text}").into())
}
