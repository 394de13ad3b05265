//! tfbc-snapshots
