//! Tables compared with reports of the same traces.

mod by_event;
mod damage;
mod parts;
mod rows;
mod tools;
