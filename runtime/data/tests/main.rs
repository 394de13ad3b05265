//! Tables beside the reports that they come from.

mod by_event;
mod damage;
mod rows;
mod tools;
