//! Programs that bring many files from elsewhere: archives, patches, downloads, mirrors.

use super::ODD_OPTIONS;
use crate::coverage::options::Argument;
use crate::coverage::options::Options;
use crate::coverage::scene::Scene;

const OTHER_MACHINE: &str = "it changes something on another machine";

/// Notes what one of these programs changes; `false` if it is none of them.
pub(super) fn effects(scene: &mut Scene<'_, '_>, name: &str, arguments: &[Argument]) -> bool {
    let understood = match name {
        "tar" | "gtar" | "bsdtar" => tar(scene, arguments),
        "unzip" => unzip(scene, arguments),
        "patch" => patch(scene, arguments),
        "rsync" => rsync(scene, arguments),
        "curl" => curl(scene, arguments),
        "wget" => wget(scene, arguments),
        _ => return false,
    };
    if understood.is_none() {
        scene.unknown(ODD_OPTIONS);
    }
    true
}

fn tar(scene: &mut Scene<'_, '_>, arguments: &[Argument]) -> Option<()> {
    const TAR: Options = Options {
        short: "xctzjJvpkmOah",
        short_valued: "fC",
        long: &[
            "extract",
            "create",
            "list",
            "gzip",
            "bzip2",
            "xz",
            "zstd",
            "verbose",
            "auto-compress",
            "keep-old-files",
            "get",
            "to-stdout",
        ],
        long_valued: &["file", "directory", "strip-components", "exclude"],
    };
    // The first argument may do without its dash.
    let mut arguments = arguments.to_vec();
    if let Some(Some(first)) = arguments.first_mut()
        && first.first() != Some(&b'-')
    {
        first.insert(0, b'-');
    }
    let parsed = TAR.parse(&arguments)?;
    if parsed.has(&["t", "list"]) {
        return Some(());
    }
    let directory = parsed.value(&["C", "directory"]).unwrap_or(b".");
    if parsed.has(&["x", "extract", "get"]) {
        if !parsed.has(&["O", "to-stdout"]) {
            scene.fills(directory);
        }
        return Some(());
    }
    parsed.has(&["c", "create"]).then_some(())?;
    let file = parsed.value(&["f", "file"])?;
    if file.contains(&b':') {
        scene.elsewhere(OTHER_MACHINE);
    } else if file != b"-" {
        scene.writes(file);
    }
    Some(())
}

fn unzip(scene: &mut Scene<'_, '_>, arguments: &[Argument]) -> Option<()> {
    const UNZIP: Options = Options {
        short: "oqnujlvtpzL",
        short_valued: "dx",
        long: &[],
        long_valued: &[],
    };
    let parsed = UNZIP.parse(arguments)?;
    if !parsed.has(&["l", "v", "t", "p", "z"]) {
        scene.fills(parsed.value(&["d"]).unwrap_or(b"."));
    }
    Some(())
}

fn patch(scene: &mut Scene<'_, '_>, arguments: &[Argument]) -> Option<()> {
    const PATCH: Options = Options {
        short: "NRsbfltuE",
        short_valued: "pidF",
        long: &[
            "dry-run", "forward", "reverse", "silent", "batch", "force", "backup",
        ],
        long_valued: &["strip", "input", "directory", "fuzz"],
    };
    let parsed = PATCH.parse(arguments)?;
    if !parsed.has(&["dry-run"]) {
        scene.fills(parsed.value(&["d", "directory"]).unwrap_or(b"."));
    }
    Some(())
}

fn rsync(scene: &mut Scene<'_, '_>, arguments: &[Argument]) -> Option<()> {
    const RSYNC: Options = Options {
        short: "avzrlptgoDunhPciWHAXxqSRm",
        short_valued: "",
        long: &[
            "archive",
            "verbose",
            "compress",
            "recursive",
            "update",
            "dry-run",
            "delete",
            "delete-after",
            "checksum",
            "progress",
            "stats",
            "quiet",
            "ignore-existing",
            "existing",
            "links",
            "perms",
            "times",
            "human-readable",
        ],
        long_valued: &["exclude", "include", "max-size", "bwlimit", "timeout"],
    };
    let parsed = RSYNC.parse(arguments)?;
    let (target, _) = parsed
        .operands
        .split_last()
        .filter(|(_, rest)| !rest.is_empty())?;
    if parsed.has(&["n", "dry-run"]) {
        return Some(());
    }
    let is_remote = target
        .iter()
        .take_while(|byte| **byte != b'/')
        .any(|byte| *byte == b':');
    if is_remote {
        scene.elsewhere(OTHER_MACHINE);
    } else {
        scene.fills(target);
    }
    Some(())
}

const CURL: Options = Options {
    short: "sSfLkviIgN46G#",
    short_valued: "oHAmXdTFuebw",
    long: &[
        "silent",
        "show-error",
        "fail",
        "location",
        "insecure",
        "verbose",
        "include",
        "head",
        "compressed",
        "get",
        "fail-with-body",
        "progress-bar",
        "no-buffer",
        "http1.1",
        "http2",
        "ipv4",
        "ipv6",
    ],
    long_valued: &[
        "output",
        "header",
        "user-agent",
        "max-time",
        "connect-timeout",
        "retry",
        "request",
        "data",
        "data-raw",
        "data-binary",
        "data-urlencode",
        "json",
        "form",
        "upload-file",
        "user",
        "referer",
        "cookie",
        "write-out",
        "retry-delay",
        "max-redirs",
    ],
};

fn curl(scene: &mut Scene<'_, '_>, arguments: &[Argument]) -> Option<()> {
    let parsed = CURL.parse(arguments)?;
    let sends = [
        "d",
        "T",
        "F",
        "data",
        "data-raw",
        "data-binary",
        "data-urlencode",
        "json",
        "form",
        "upload-file",
    ];
    // `%output{file}` in what it is to print at the end makes a file.
    let format = parsed.value(&["w", "write-out"]).unwrap_or_default();
    if format.first() == Some(&b'@') || format.windows(6).any(|part| part == b"output") {
        return None;
    }
    let method = parsed.value(&["X", "request"]).unwrap_or(b"GET");
    let reads = matches!(method, b"GET" | b"HEAD" | b"OPTIONS");
    if !reads || (parsed.has(&sends) && !parsed.has(&["G", "get"])) {
        scene.elsewhere(OTHER_MACHINE);
    }
    if let Some(file) = parsed.value(&["o", "output"]).filter(|file| *file != b"-") {
        scene.writes(file);
    }
    Some(())
}

fn wget(scene: &mut Scene<'_, '_>, arguments: &[Argument]) -> Option<()> {
    const WGET: Options = Options {
        short: "qcvS",
        short_valued: "OPTtU",
        long: &[
            "quiet",
            "continue",
            "no-verbose",
            "no-check-certificate",
            "spider",
        ],
        long_valued: &[
            "output-document",
            "directory-prefix",
            "timeout",
            "tries",
            "header",
            "user-agent",
            "post-data",
            "post-file",
            "method",
            "body-data",
            "body-file",
        ],
    };
    let parsed = WGET.parse(arguments)?;
    if parsed.has(&["post-data", "post-file", "method", "body-data", "body-file"]) {
        scene.elsewhere(OTHER_MACHINE);
    }
    match parsed.value(&["O", "output-document"]) {
        Some(b"-") => {}
        Some(file) => scene.writes(file),
        None if parsed.has(&["spider"]) => {}
        None => scene.fills(parsed.value(&["P", "directory-prefix"]).unwrap_or(b".")),
    }
    Some(())
}
