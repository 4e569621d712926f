//! Resume records: what a session was doing, in `<home>/checkpoints/<session id>.yaml`.
//!
//! Long tasks lose their thread when a conversation is compacted or started anew. A record keeps it: the
//! task, the steps that are done, what was decided, what is open. The format is Hermes's, and so is the
//! place: each reads what the other wrote.
//!
//! * [`record`]: one record; what nobody here knows stays in it
//! * [`yaml`]: the language it is written in
//! * [`store`]: the directory: read, replace, remove, all or nothing
//! * [`update`]: what a new record holds, and how one goes on
//! * [`moment`]: the times in records, however they are written
//! * [`gc`]: which records have served their time
//! * [`inject`]: what the next session is told

pub mod gc;
pub mod inject;
pub mod moment;
pub mod record;
pub mod store;
pub mod update;

pub use herma_yaml as yaml;
pub use herma_yaml::{Map, Value};
pub use moment::Now;
pub use record::Record;
pub use store::{ResumeError, ResumeStore, SessionId};
pub use update::Update;
