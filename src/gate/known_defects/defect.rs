//! The defects that limits have to see.

/// A defect that limits for all tensors have to see.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownDefect {
    /// The word that findings carry.
    pub(crate) code: &'static str,
    /// Names of its cases in the self-test: in a dump, in a checkpoint.
    pub(crate) cases: [&'static str; 2],
    /// Name of the defect.
    pub(crate) what: &'static str,
    /// Its error relative to scale, which is its largest difference on a tensor of unit scale too.
    pub(crate) size: f64,
    /// Cosine similarity that it leaves.
    pub(super) cosine: f64,
}

/// The known defects, the smallest first.
pub(crate) const DEFECTS: [KnownDefect; 4] = [
    KnownDefect {
        code: "scale",
        cases: ["dump-scale", "checkpoint-scale"],
        what: "every value 11 % too large (dropout of 0.1 scaled twice)",
        size: 1.0 / 0.9 - 1.0,
        cosine: 1.0,
    },
    KnownDefect {
        code: "half",
        cases: ["dump-half", "checkpoint-half"],
        what: "every value half as large (a mean over twice the elements)",
        size: 0.5,
        cosine: 1.0,
    },
    KnownDefect {
        code: "zeros",
        cases: ["dump-zeros", "checkpoint-zeros"],
        what: "only zeros (a kernel that did not run)",
        size: 1.0,
        cosine: 0.0,
    },
    KnownDefect {
        code: "sign",
        cases: ["dump-sign", "checkpoint-sign"],
        what: "every value with the wrong sign",
        size: 2.0,
        cosine: -1.0,
    },
];
