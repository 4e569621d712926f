//! Where agents keep their settings.

use std::path::{Path, PathBuf};

/// Where this user's settings are.
#[derive(Clone, Debug)]
pub struct Places {
    /// The user's home.
    pub home: PathBuf,
    /// Those of [`place_variables`](crate::place_variables) that are set and not empty.
    pub variables: Vec<(&'static str, PathBuf)>,
    /// Is there a `~/Documents/Cline`, as the editor extension makes it?
    pub has_cline_documents: bool,
}

/// For whom to install.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// For the user, in every project.
    User,
    /// In this project only.
    Project(PathBuf),
}

impl Places {
    /// The place a variable names, or the usual one in the user's home. A relative place means something else
    /// in every directory, so it is not taken.
    pub(crate) fn variable_or(&self, name: &str, usual: &str) -> PathBuf {
        let mut found = self.variables.iter();
        let found = found.find(|(known, path)| *known == name && path.is_absolute());
        found.map_or_else(|| self.home.join(usual), |(_, path)| path.clone())
    }

    /// Where programs keep their settings.
    pub(crate) fn config(&self) -> PathBuf {
        self.variable_or("XDG_CONFIG_HOME", ".config")
    }
}

impl Scope {
    /// A path in the project, or the given one of the user.
    pub(crate) fn choose(&self, in_project: impl AsRef<Path>, of_user: PathBuf) -> PathBuf {
        match self {
            Self::User => of_user,
            Self::Project(root) => root.join(in_project),
        }
    }
}
