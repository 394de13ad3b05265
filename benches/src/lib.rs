//! tfbc-benches
