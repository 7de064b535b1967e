//! The rules of the check of arrays.

use crate::judge::rule::rules;

rules! {
    CheckId::Arrays;

    /// An array differs by more than another precision explains.
    DIFFERS = "array-differs", Fail;
    /// An array differs by more than noise, as much as another precision or algorithm makes.
    DRIFTS = "array-drifts", Warn;
    /// An array differs at all, under the profile that allows no difference.
    NOT_BIT_EXACT = "array-not-bit-exact", Fail;
    /// Shapes differ.
    SHAPE_DIFFERS = "array-shape-differs", Fail;
    /// Places or signs of NaN and infinity differ.
    NON_FINITE_DIFFERS = "array-non-finite-differs", Fail;
    /// Rows of an embedding point elsewhere.
    ROWS_DIFFER = "array-rows-differ", Fail;
    /// All rows of an embedding are there in another order.
    ROWS_PERMUTED = "array-rows-permuted", Fail;
    /// Rows of an embedding have another length.
    NORM_DIFFERS = "array-norm-differs", Fail;
    /// A picture differs.
    IMAGE_DIFFERS = "image-differs", Fail;
    /// An array or its file is there on one side only.
    MISSING = "array-missing", Incomplete absence;
    /// An array cannot be read.
    UNREAD = "array-unread", Incomplete absence;
    /// Nothing of an array could be compared.
    NOTHING_COMPARED = "array-not-compared", Incomplete absence;
}
