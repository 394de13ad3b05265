use bumpalo::Bump;

/// Memory of one file's syntax tree. It is freed as a whole, so nodes are plain references without destructors.
///
/// ```
/// let arena = tfbc_grammar::Arena::new();
/// assert_eq!(arena.slice(&[1, 2, 3]), &[1, 2, 3]);
/// ```
#[derive(Default)]
pub struct Arena {
    bump: Bump,
}

impl Arena {
    /// An empty arena; it allocates on first use.
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves `node` into the arena. A type with a destructor does not compile: it would never run.
    pub fn alloc<T>(&self, node: T) -> &T {
        const { assert!(!std::mem::needs_drop::<T>()) }
        self.bump.alloc(node)
    }

    /// Copies `nodes` into the arena.
    pub fn slice<T: Copy>(&self, nodes: &[T]) -> &[T] {
        self.bump.alloc_slice_copy(nodes)
    }

    /// An empty list that grows in the arena.
    pub(crate) fn list<T>(&self) -> bumpalo::collections::Vec<'_, T> {
        const { assert!(!std::mem::needs_drop::<T>()) }
        bumpalo::collections::Vec::new_in(&self.bump)
    }
}
