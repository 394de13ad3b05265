//! Tables beside the reports that they come from.

mod damage;
mod rows;
mod tools;
