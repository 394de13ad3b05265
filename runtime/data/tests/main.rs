//! Tables compared with reports of the same traces.

mod by_event;
mod damage;
#[cfg(feature = "parquet")]
mod parquet_files;
mod parts;
mod rows;
mod tools;
