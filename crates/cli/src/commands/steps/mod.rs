//! What was done, one step at a time: [`run`] brackets a command, [`step`] and [`turn`] note what a hook tells, [`list`] shows them,
//! [`known`] names those there are, and [`notice`] says what was undone of them.

pub(crate) mod known;
pub(crate) mod list;
pub(crate) mod notice;
pub(crate) mod run;
pub(crate) mod step;
pub(crate) mod turn;
