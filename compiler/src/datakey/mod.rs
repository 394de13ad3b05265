//! QNX event definitions: from the syntax trees of XML files to IR.

mod check;
mod enums;
mod lower;
mod model;

pub(crate) use check::{XmlUnit, check};
pub(crate) use lower::lower;
pub(crate) use model::{Condition, Definition, Enum, EventPlan, Field, Key, Model, Search, Shape, Show, Test};
