//! The program about itself: its help ([`help`]), its manual, the shell's completions, and whether all is well ([`doctor`]).

pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod help;
pub(crate) mod man;
pub(crate) mod markdown_help;
