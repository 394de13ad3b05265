//! tfbc
