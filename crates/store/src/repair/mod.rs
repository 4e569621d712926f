//! Bringing back what a damaged store still has.
//!
//! Nothing is thrown away: what is put in another's place is set aside first.

pub mod own_files;
pub mod rebuild;
pub mod recover;
pub mod salvage;
pub mod set_aside;
