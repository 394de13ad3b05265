//! Lanes of pairs that overlap, for pictures in which the slices of a track nest.

use crate::gaps::GapStarts;
use std::collections::HashMap;

/// Limit on lanes of a track.
const MAX_LANES: usize = 1024;
/// Limit on tracks.
const MAX_TRACKS: usize = 4096;

/// Lanes of tracks. A pair gets the lowest lane that is free at its start.
#[derive(Debug)]
pub struct Lanes {
    /// True if each group has a track of its own.
    by_group: bool,
    tracks: HashMap<Box<[u8]>, Vec<Lane>>,
}

#[derive(Debug, Clone, Copy)]
enum Lane {
    /// Free from this time on.
    Free(u64),
    /// Taken by a start: its CPU, and the number of gaps before it.
    Taken { cpu: Option<u64>, n_gaps: u64 },
}

impl Lanes {
    /// Creates the lanes of one track, or of a track per group.
    pub fn new(by_group: bool) -> Self {
        Self { by_group, tracks: HashMap::new() }
    }

    /// Takes a lane for a start. `None` if there are too many lanes or tracks.
    pub fn take(&mut self, group: &[u8], now: u64, cpu: Option<u64>, gaps: &GapStarts) -> Option<u16> {
        let track = if self.by_group { group } else { &[] };
        if !self.tracks.contains_key(track) {
            if self.tracks.len() >= MAX_TRACKS {
                return None;
            }
            self.tracks.insert(track.into(), Vec::new());
        }
        let lanes = self.tracks.get_mut(track)?;
        let is_free = |lane: &Lane| match *lane {
            Lane::Free(from) => from <= now,
            // Untraced time has cut the pair, which never ends.
            Lane::Taken { cpu, n_gaps } => gaps.since(n_gaps, cpu),
        };
        let taken = Lane::Taken { cpu, n_gaps: gaps.n() };
        match lanes.iter().position(is_free) {
            Some(at) => {
                lanes[at] = taken;
                Some(at as u16)
            }
            None if lanes.len() < MAX_LANES => {
                lanes.push(taken);
                Some(lanes.len() as u16 - 1)
            }
            None => None,
        }
    }

    /// Frees the lane of a pair that untraced time has not cut.
    pub fn free(&mut self, group: &[u8], lane: Option<u16>, now: u64) {
        let track = if self.by_group { group } else { &[] };
        if let (Some(lanes), Some(lane)) = (self.tracks.get_mut(track), lane) {
            lanes[usize::from(lane)] = Lane::Free(now);
        }
    }
}
