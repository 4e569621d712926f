//! The readers against what agents send: recorded, crossed and broken.

mod corpus;
mod crossing;
mod golden;
mod hostile;
