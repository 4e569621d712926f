//! Small made-up workspaces.

use tempfile::TempDir;

/// A workspace with these files; each crate gets a `Cargo.toml` unless there is one among them.
pub fn workspace(files: &[(&str, &str)]) -> TempDir {
    let made = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let file = made.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    for (path, _) in files {
        if let Some((directory, _)) = path.split_once("/src/") {
            let manifest = made.path().join(directory).join("Cargo.toml");
            if !manifest.exists() {
                std::fs::write(manifest, "").unwrap();
            }
        }
    }
    made
}
