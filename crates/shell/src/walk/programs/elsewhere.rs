//! Programs that change what is no file: other machines, databases, processes, the system.

use crate::options::Argument;
use crate::walk::process::Process;

const OTHER_MACHINE: &str = "it talks to another machine";
const CONTAINERS: &str = "it changes containers";
const DATABASE: &str = "it changes a database";
const PROCESSES: &str = "it acts on other processes";
const SYSTEM: &str = "it changes the system";
pub(super) const OTHER_USER: &str = "it runs as another user, who may change anything";
const PUBLISHES: &str = "it publishes something on another machine";

#[rustfmt::skip]
const PROGRAMS: &[(&str, &[&str])] = &[
    (OTHER_MACHINE, &[
        "ssh", "scp", "sftp", "ftp", "telnet", "nc", "ncat", "netcat", "socat", "gh", "hub", "glab", "aws", "gcloud", "gsutil",
        "az", "heroku", "fly", "flyctl", "vercel", "netlify", "wrangler", "firebase", "doctl", "terraform", "tofu",
        "pulumi", "ansible", "ansible-playbook", "kubectl", "oc", "helm", "twine", "mail", "mailx", "mutt", "sendmail",
        "msmtp", "lftp", "rclone", "mosh", "http", "https", "xh",
    ]),
    (CONTAINERS, &["docker", "docker-compose", "podman", "nerdctl", "buildah", "vagrant", "lxc", "virsh"]),
    (DATABASE, &[
        "psql", "mysql", "mariadb", "mongo", "mongosh", "redis-cli", "createdb", "dropdb", "pg_restore", "mysqladmin",
        "clickhouse-client", "cqlsh",
    ]),
    (PROCESSES, &["kill", "pkill", "killall", "renice", "skill", "tmux", "screen"]),
    (SYSTEM, &[
        "systemctl", "service", "launchctl", "crontab", "at", "batch", "reboot", "shutdown", "halt", "poweroff", "init",
        "mount", "umount", "swapon", "swapoff", "modprobe", "insmod", "rmmod", "sysctl", "iptables", "nft", "ufw", "ip",
        "ifconfig", "useradd", "userdel", "usermod", "groupadd", "passwd", "chsh", "visudo", "fdisk", "parted", "wipefs",
        "mkswap", "losetup", "cryptsetup", "apt", "apt-get", "dpkg", "yum", "dnf", "rpm", "pacman", "apk", "zypper",
        "brew", "port", "snap", "flatpak", "hostnamectl", "timedatectl", "defaults", "diskutil",
    ]),
    (OTHER_USER, &["su", "pkexec", "runuser", "chroot", "nsenter"]),
];

/// What some of these only look at.
#[rustfmt::skip]
const LOOKS: &[(&str, &[&[&str]])] = &[
    ("docker", &[&["ps"], &["images"], &["logs"], &["inspect"], &["version"], &["info"], &["top"]]),
    ("podman", &[&["ps"], &["images"], &["logs"], &["inspect"], &["version"], &["info"], &["top"]]),
    ("kubectl", &[&["get"], &["describe"], &["logs"], &["top"], &["version"], &["explain"]]),
    ("gh", &[
        &["pr", "view"], &["pr", "list"], &["pr", "diff"], &["pr", "status"], &["pr", "checks"], &["issue", "view"],
        &["issue", "list"], &["issue", "status"], &["run", "view"], &["run", "list"], &["repo", "view"], &["auth", "status"],
    ]),
    ("systemctl", &[&["status"], &["is-active"], &["is-enabled"], &["list-units"], &["show"], &["cat"]]),
    ("crontab", &[&["-l"]]),
    ("brew", &[&["list"], &["info"], &["search"]]),
    ("apt", &[&["list"], &["show"], &["search"]]),
    ("dpkg", &[&["-l"], &["-L"], &["-s"]]),
    ("terraform", &[&["version"], &["validate"], &["show"]]),
    ("kill", &[&["-l"], &["-0"]]),
];

/// What some programs publish; all else they do is not known.
#[rustfmt::skip]
const PUBLISH: &[(&str, &[&str])] = &[
    ("npm", &["publish", "unpublish", "deprecate", "dist-tag", "owner", "access", "login", "adduser", "logout"]),
    ("pnpm", &["publish"]),
    ("yarn", &["publish"]),
    ("bun", &["publish"]),
    ("cargo", &["publish", "yank", "owner", "login", "logout"]),
    ("gem", &["push", "yank", "owner"]),
    ("poetry", &["publish"]),
    ("uv", &["publish"]),
    ("hatch", &["publish"]),
    ("flit", &["publish"]),
    ("mvn", &["deploy"]),
    ("dotnet", &["publish"]),
];

/// Notes what one of these programs changes; `false` if it is none of them.
pub(super) fn effects(process: &mut Process<'_, '_>, name: &str, arguments: &[Argument]) -> bool {
    let word = |at: usize| -> Option<&str> {
        let text: &[u8] = arguments.get(at)?.as_ref()?;
        std::str::from_utf8(text).ok()
    };
    let looks = LOOKS.iter().find(|(program, _)| *program == name);
    let only_looks = looks.is_some_and(|(_, all)| {
        all.iter().any(|words| (0..words.len()).all(|at| word(at) == Some(words[at])))
    });
    if only_looks {
        return true;
    }
    let name = if name.starts_with("mkfs") { "mkswap" } else { name };
    if let Some((why, _)) = PROGRAMS.iter().find(|(_, names)| names.contains(&name)) {
        process.elsewhere(why);
        return true;
    }
    let publish = PUBLISH.iter().find(|(program, _)| *program == name);
    match (publish, word(0)) {
        (Some((_, words)), Some(first)) if words.contains(&first) => {
            process.program = format!("{name} {first}").into();
            process.elsewhere(PUBLISHES);
            true
        }
        _ => false,
    }
}
