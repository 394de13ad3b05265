//! QNX event definitions: from the syntax trees of XML files to IR.

mod check;
mod enums;
mod fields;
mod lower;
mod model;

pub(crate) use check::{XmlUnit, check};
pub(crate) use lower::{lower, lower_fields};
pub(crate) use model::{
    AppliedDefinition, Definition, EnumLabel, EnumSearch, EventPlan, FormatField, Model, NumberStyle, PayloadType,
    ResolvedCondition, Test,
};
