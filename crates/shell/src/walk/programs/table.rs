//! The programs whose options are read as `getopt` does: which they have, and what they do with their operands.

use super::{archives, files, modes, scripts, sizes};
use crate::effects::Effect;
use crate::options::{Options, Parsed};
use crate::walk::process::Process;

/// Notes what a program does with these arguments; `None` if that is not known.
type Effects = fn(&mut Process<'_, '_>, &Parsed<'_>) -> Option<()>;

/// Names that mean the same program, its options, what it does.
#[rustfmt::skip]
pub(super) const PROGRAMS: &[(&[&str], Options, Effects)] = &[
    (&["rm", "unlink"], Options("-rRfiIdvx recursive force verbose dir one-file-system interactive no-preserve-root \
        preserve-root", ""), |process, parsed| each(process, parsed, Process::replaces)),
    (&["shred"], Options("-fuvzx force remove verbose zero", "-n iterations"), each_written),
    (&["touch"], Options("-acmh no-create no-dereference", "-drt date reference time"), each_written),
    (&["tee"], Options("-aip append ignore-interrupts", ""), |process, parsed| each(process, parsed, |process, path| {
        process.does(Effect::Prints(path.into()));
    })),
    (&["rmdir"], Options("-pv parents verbose ignore-fail-on-non-empty", ""), files::rmdir),
    (&["mkdir"], Options("-pv parents verbose", "-m mode"), files::mkdir),
    (&["mv"], Options("-finuvT force interactive no-clobber update verbose no-target-directory strip-trailing-slashes",
        "-t target-directory"), files::mv),
    (&["cp"], Options("-rRafinpuvTdPx recursive archive force interactive no-clobber update verbose no-dereference \
        no-target-directory preserve reflink sparse one-file-system", "-t target-directory"), files::cp),
    (&["ln"], Options("-sfnrvTi symbolic force no-dereference relative verbose no-target-directory interactive",
        "-t target-directory"), files::ln),
    (&["install"], Options("-dDvpCcT directory verbose preserve-timestamps compare no-target-directory",
        "-mt mode target-directory"), files::install),
    (&["chmod"], Options("-Rvcf recursive verbose changes silent quiet", ""), modes::chmod),
    (&["truncate"], Options("-co no-create io-blocks", "-sr size reference"), sizes::truncate),
    (&["fallocate"], Options("-nvx keep-size verbose posix", "-lo length offset"), sizes::fallocate),
    (&["dd"], Options("", ""), sizes::dd),
    (&["sort"], Options("-bdfgiMhnRrVcCmsuz reverse unique numeric-sort human-numeric-sort version-sort stable ignore-case \
        zero-terminated check merge random-sort general-numeric-sort",
        "-ktSo key field-separator output parallel buffer-size"), |process, parsed| writes(process, parsed.value("o output"))),
    (&["uniq"], Options("-cdDiuz count repeated ignore-case unique zero-terminated",
        "-fsw skip-fields skip-chars check-chars"), |process, parsed| writes(process, parsed.operands.get(1).copied())),
    (&["awk", "gawk", "mawk"], Options("", "-Fv field-separator assign"), scripts::awk),
    (&["tar", "gtar", "bsdtar"], Options("-xctzjJvpkmOah extract create list gzip bzip2 xz zstd verbose auto-compress \
        keep-old-files get to-stdout", "-fC file directory strip-components exclude"), archives::tar),
    (&["unzip"], Options("-oqnujlvtpzL", "-dx"), |process, parsed| archives::unpacks(process, parsed, "l v t p z")),
    (&["patch"], Options("-NRsbfltuE dry-run forward reverse silent batch force backup",
        "-pidF strip input directory fuzz"), |process, parsed| archives::unpacks(process, parsed, "dry-run")),
    (&["rsync"], Options("-avzrlptgoDunhPciWHAXxqSRm archive verbose compress recursive update dry-run delete delete-after \
        checksum progress stats quiet ignore-existing existing links perms times human-readable",
        "- exclude include max-size bwlimit timeout"), archives::rsync),
    (&["curl"], Options("-sSfLkviIgN46G# silent show-error fail location insecure verbose include head compressed get \
        fail-with-body progress-bar no-buffer http1.1 http2 ipv4 ipv6",
        "-oHAmXdTFuebw output header user-agent max-time connect-timeout retry request data data-raw data-binary \
        data-urlencode json form upload-file user referer cookie write-out retry-delay max-redirs"), archives::curl),
    (&["wget"], Options("-qcvS quiet continue no-verbose no-check-certificate spider",
        "-OPTtU output-document directory-prefix timeout tries header user-agent post-data post-file method body-data \
        body-file"), archives::wget),
];

/// Calls `change` for each operand.
fn each<'w, 'f>(
    process: &mut Process<'w, 'f>,
    parsed: &Parsed<'_>,
    change: fn(&mut Process<'w, 'f>, &[u8]),
) -> Option<()> {
    parsed.operands.iter().for_each(|operand| change(process, operand));
    Some(())
}

fn writes(process: &mut Process<'_, '_>, output: Option<&[u8]>) -> Option<()> {
    if let Some(output) = output {
        process.writes(output);
    }
    Some(())
}

fn each_written(process: &mut Process<'_, '_>, parsed: &Parsed<'_>) -> Option<()> {
    each(process, parsed, Process::writes)
}
