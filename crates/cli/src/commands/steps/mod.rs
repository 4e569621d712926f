//! What was done, one step at a time: [`run`] brackets a command, [`step`] and [`turn`] note what a hook tells, [`list`] shows them,
//! and [`known`] names those there are.

pub(crate) mod known;
pub(crate) mod list;
pub(crate) mod run;
pub(crate) mod step;
pub(crate) mod turn;
