//! Files whose name says that they hold a secret. They are never opened.
//!
//! Names are compared without regard to case, as the systems that make these files do. A name is on
//! the list when nearly every file called so holds a key, a token or a history of typed commands; what
//! only the content can tell (`*.asc`, a token in a source file) is not decided here.
use herma_store::path::split;

/// Does the name of this entry say that it holds secrets? `path` is relative to the project root.
pub fn is_secret(path: &[u8], is_dir: bool) -> bool {
    let (parents, name) = split(path);
    let mut buffer = [0; 255];
    // Longer names exist on no file system here and are refused as reserved before.
    let Some(lower) = buffer.get_mut(..name.len()) else { return false };
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    let parent = parents.rsplit(|b| *b == b'/').next().unwrap_or_default();
    if is_dir {
        return is_secret_directory(lower, parent);
    }
    is_secret_name(lower)
        || is_history(lower)
        || has_secret_ending(lower)
        || has_secret_beginning(lower)
        || is_environment(lower)
        || is_core_dump(lower)
        || is_secret_place(lower, parent, parents)
}

fn is_secret_directory(name: &[u8], parent: &[u8]) -> bool {
    matches!(name, b".ssh" | b".gnupg" | b".aws" | b".azure")
        || (name == b"gcloud" && parent == b".config")
}

#[rustfmt::skip]
fn is_secret_name(name: &[u8]) -> bool {
    matches!(
        name,
        b"id_rsa" | b"id_dsa" | b"id_ecdsa" | b"id_ed25519" | b"id_ecdsa_sk" | b"id_ed25519_sk"
            | b".netrc" | b"_netrc" | b".pgpass" | b".my.cnf" | b".npmrc" | b".pypirc"
            | b".yarnrc.yml" | b".git-credentials" | b"terraform.rc" | b".terraformrc"
            | b"credentials.json" | b".credentials.json" | b"secrets.yml" | b"secrets.yaml"
            | b"nuget.config" | b".htpasswd" | b".vault-token" | b"wallet.dat"
            | b"cookies.sqlite" | b"login data" | b"key4.db" | b"logins.json"
    )
}

#[rustfmt::skip]
fn is_history(name: &[u8]) -> bool {
    matches!(
        name,
        b".bash_history" | b".zsh_history" | b".sh_history" | b".ash_history" | b".ksh_history"
            | b".history" | b".histfile" | b"fish_history" | b".python_history" | b".node_repl_history"
            | b".irb_history" | b".pry_history" | b".psql_history" | b".mysql_history"
            | b".sqlite_history" | b".rediscli_history" | b".mongo_history" | b".dbshell"
            | b".php_history" | b".rhistory" | b".scala_history" | b".octave_hist" | b".lesshst"
    )
}

#[rustfmt::skip]
fn has_secret_ending(name: &[u8]) -> bool {
    const ENDINGS: [&[u8]; 12] = [
        b".pem", b".key", b".p12", b".pfx", b".jks", b".keystore", b".kdbx", b".ppk", b".tfvars",
        b".tfvars.json", b".ovpn", b".tfstate",
    ];
    ENDINGS.iter().any(|ending| name.ends_with(ending)) || bstr::ByteSlice::contains_str(name, ".tfstate")
}

fn has_secret_beginning(name: &[u8]) -> bool {
    let json_called = |start: &[u8]| name.starts_with(start) && name.ends_with(b".json");
    json_called(b"client_secret")
        || json_called(b"service-account")
        || (name.starts_with(b"kubeconfig") && !is_program_text(name))
}

/// `kubeconfig.go` writes such files; it is not one.
#[rustfmt::skip]
fn is_program_text(name: &[u8]) -> bool {
    let ending = name.rsplit(|b| *b == b'.').next().unwrap_or_default();
    matches!(
        ending,
        b"go" | b"py" | b"rs" | b"js" | b"ts" | b"tsx" | b"jsx" | b"mjs" | b"java" | b"kt" | b"rb"
            | b"c" | b"h" | b"cc" | b"cpp" | b"cs" | b"sh" | b"ps1" | b"md" | b"mdx" | b"rst" | b"txt"
            | b"html" | b"tmpl" | b"tpl" | b"j2" | b"tf" | b"svg" | b"png"
    )
}

/// `.env`, `.envrc`, `.env.production`, `prod.env`; not those that only show what to fill in.
fn is_environment(name: &[u8]) -> bool {
    const SHOWN: [&[u8]; 4] = [b"example", b"sample", b"template", b"dist"];
    if let Some(rest) = name.strip_prefix(b".env.") {
        return !SHOWN.contains(&rest);
    }
    match name.strip_suffix(b".env") {
        Some(stem) => !SHOWN.contains(&stem.strip_prefix(b".").unwrap_or(stem)),
        None => name == b".envrc",
    }
}

/// `core`, `core.1234`, `vgcore.1234`: the memory of a program that crashed.
fn is_core_dump(name: &[u8]) -> bool {
    let digits = name.strip_prefix(b"core.").or_else(|| name.strip_prefix(b"vgcore."));
    name == b"core" || digits.is_some_and(|d| !d.is_empty() && d.iter().all(u8::is_ascii_digit))
}

/// Names that are secret only where they are.
fn is_secret_place(name: &[u8], parent: &[u8], parents: &[u8]) -> bool {
    match name {
        b"config.json" => parent == b".docker",
        b"config" => parent == b".kube",
        b"cookies" => matches!(parent, b"Default" | b"Network"),
        b"auth.json" => parents.split(|b| *b == b'/').any(|dir| {
            matches!(dir, b".claude" | b".codex" | b".hermes" | b".gemini" | b".config")
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_hold_secrets_are_found() {
        #[rustfmt::skip]
        let secrets = [
            ".env", ".env.local", ".env.production", ".ENV", "prod.env", ".envrc", "a/server.pem",
            "tls.key", "x.p12", "x.PFX", "x.jks", "x.keystore", "x.kdbx", "x.ppk", "id_rsa", "id_dsa",
            "id_ecdsa", "a/b/id_ed25519", ".netrc", ".pgpass", ".my.cnf", ".npmrc", ".pypirc",
            ".yarnrc.yml", ".git-credentials", ".docker/config.json", "x/.docker/config.json",
            ".kube/config", "kubeconfig", "kubeconfig-prod", "kubeconfig.yaml", "terraform.tfstate",
            "terraform.tfstate.backup", "prod.tfvars", "terraform.rc", "credentials.json",
            "client_secret_123.json", "service-account-prod.json", "secrets.yml", "secrets.yaml",
            "NuGet.Config", ".htpasswd", ".vault-token", "vpn.ovpn", "wallet.dat", ".bash_history",
            ".python_history", ".claude/.credentials.json", ".codex/auth.json", ".config/x/auth.json",
            "cookies.sqlite", "Login Data", "key4.db", "logins.json", "core", "core.4711",
        ];
        for path in secrets {
            assert!(is_secret(path.as_bytes(), false), "{path}");
        }
        for path in [".ssh", "home/.gnupg", ".aws", ".azure", ".config/gcloud"] {
            assert!(is_secret(path.as_bytes(), true), "{path}");
        }
    }

    #[test]
    fn ordinary_source_is_not_taken_for_a_secret() {
        #[rustfmt::skip]
        let ordinary = [
            ".env.example", ".env.sample", ".env.template", ".env.dist", "example.env", "core.py",
            "core.c", "core.", "src/auth.json", "config.json", "config", "keys.rs", "monkey",
            "id_rsa.pub", "release.asc", "kubeconfig.go", "kubeconfig_test.go", "environment.ts",
            "secrets.rs", "history.md", "tfstate", "package.json", "server.crt", "env", "a.envelope",
        ];
        for path in ordinary {
            assert!(!is_secret(path.as_bytes(), false), "{path}");
        }
        for path in ["core", "src/core", "gcloud", ".env", ".config", "aws", "secrets.yml"] {
            assert!(!is_secret(path.as_bytes(), true), "{path}");
        }
    }
}
