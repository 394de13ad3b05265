//! Correspondence between hooks and events.

/// First hook that corresponds to an event.
const FIRST_HOOK: u32 = 0x1000;

/// Hook that corresponds to an event.
pub(super) fn hook_of(class: u8, event: u16) -> u32 {
    FIRST_HOOK + (u32::from(class) << 10) + u32::from(event & 0x3ff)
}

/// Event that a hook corresponds to.
pub(super) fn event_of(hook: u16) -> Option<(u8, u16)> {
    let n = u32::from(hook).checked_sub(FIRST_HOOK)?;
    (n < 32 << 10).then_some(((n >> 10) as u8, (n & 0x3ff) as u16))
}
