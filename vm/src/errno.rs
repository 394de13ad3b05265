//! Names of AIX error numbers.

/// AIX error numbers and names (`aix-errno.tsv`), by number.
pub const ERRNO_NAMES: &[(u16, &str)] = &[
    (1, "EPERM"),
    (2, "ENOENT"),
    (3, "ESRCH"),
    (4, "EINTR"),
    (5, "EIO"),
    (6, "ENXIO"),
    (7, "E2BIG"),
    (8, "ENOEXEC"),
    (9, "EBADF"),
    (10, "ECHILD"),
    (11, "EAGAIN"),
    (12, "ENOMEM"),
    (13, "EACCES"),
    (14, "EFAULT"),
    (15, "ENOTBLK"),
    (16, "EBUSY"),
    (17, "EEXIST"),
    (18, "EXDEV"),
    (19, "ENODEV"),
    (20, "ENOTDIR"),
    (21, "EISDIR"),
    (22, "EINVAL"),
    (23, "ENFILE"),
    (24, "EMFILE"),
    (25, "ENOTTY"),
    (26, "ETXTBSY"),
    (27, "EFBIG"),
    (28, "ENOSPC"),
    (29, "ESPIPE"),
    (30, "EROFS"),
    (31, "EMLINK"),
    (32, "EPIPE"),
    (33, "EDOM"),
    (34, "ERANGE"),
    (35, "ENOMSG"),
    (36, "EIDRM"),
    (37, "ECHRNG"),
    (38, "EL2NSYNC"),
    (39, "EL3HLT"),
    (40, "EL3RST"),
    (41, "ELNRNG"),
    (42, "EUNATCH"),
    (43, "ENOCSI"),
    (44, "EL2HLT"),
    (45, "EDEADLK"),
    (46, "ENOTREADY"),
    (47, "EWRPROTECT"),
    (48, "EFORMAT"),
    (49, "ENOLCK"),
    (50, "ENOCONNECT"),
    (52, "ESTALE"),
    (53, "EDIST"),
    (54, "EWOULDBLOCK"),
    (55, "EINPROGRESS"),
    (56, "EALREADY"),
    (57, "ENOTSOCK"),
    (58, "EDESTADDRREQ"),
    (59, "EMSGSIZE"),
    (60, "EPROTOTYPE"),
    (61, "ENOPROTOOPT"),
    (62, "EPROTONOSUPPORT"),
    (63, "ESOCKTNOSUPPORT"),
    (64, "EOPNOTSUPP"),
    (65, "EPFNOSUPPORT"),
    (66, "EAFNOSUPPORT"),
    (67, "EADDRINUSE"),
    (68, "EADDRNOTAVAIL"),
    (69, "ENETDOWN"),
    (70, "ENETUNREACH"),
    (71, "ENETRESET"),
    (72, "ECONNABORTED"),
    (73, "ECONNRESET"),
    (74, "ENOBUFS"),
    (75, "EISCONN"),
    (76, "ENOTCONN"),
    (77, "ESHUTDOWN"),
    (78, "ETIMEDOUT"),
    (79, "ECONNREFUSED"),
    (80, "EHOSTDOWN"),
    (81, "EHOSTUNREACH"),
    (82, "ERESTART"),
    (83, "EPROCLIM"),
    (84, "EUSERS"),
    (85, "ELOOP"),
    (86, "ENAMETOOLONG"),
    (87, "ENOTEMPTY"),
    (88, "EDQUOT"),
    (89, "ECORRUPT"),
    (90, "ESYSERROR"),
    (93, "EREMOTE"),
    (94, "ENOTRECOVERABLE"),
    (95, "EOWNERDEAD"),
    (109, "ENOSYS"),
    (110, "EMEDIA"),
    (111, "ESOFT"),
    (112, "ENOATTR"),
    (113, "ESAD"),
    (114, "ENOTRUST"),
    (115, "ETOOMANYREFS"),
    (116, "EILSEQ"),
    (117, "ECANCELED"),
    (118, "ENOSR"),
    (119, "ETIME"),
    (120, "EBADMSG"),
    (121, "EPROTO"),
    (122, "ENODATA"),
    (123, "ENOSTR"),
    (124, "ENOTSUP"),
    (125, "EMULTIHOP"),
    (126, "ENOLINK"),
    (127, "EOVERFLOW"),
];

/// Name of an AIX error number.
///
/// ```
/// assert_eq!(tfbc_vm::errno_name(2), Some("ENOENT"));
/// assert_eq!(tfbc_vm::errno_name(0), None);
/// ```
#[inline]
pub fn errno_name(value: u64) -> Option<&'static str> {
    NAMES.get(usize::try_from(value).ok()?).copied().filter(|name| !name.is_empty())
}

/// Names by number; empty for numbers without one.
static NAMES: [&str; 128] = {
    let mut names = [""; 128];
    let mut at = 0;
    while at < ERRNO_NAMES.len() {
        names[ERRNO_NAMES[at].0 as usize] = ERRNO_NAMES[at].1;
        at += 1;
    }
    names
};

/// Number of an AIX error name.
pub fn errno_value(name: &[u8]) -> Option<u16> {
    ERRNO_NAMES.iter().find(|(_, known)| known.as_bytes() == name).map(|(value, _)| *value)
}
