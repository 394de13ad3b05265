//! Kept outputs, differential tests, and tests of the text in this repository.

mod cases;
mod cases_qnx;
mod convert;
mod coverage;
mod datakey;
mod differential;
mod differential_fields;
mod differential_qnx;
mod fields;
mod fields_qnx;
mod fixes;
mod format;
mod golden;
mod hexview;
mod hostile;
mod kept_blobs;
mod names_qnx;
mod prose;
