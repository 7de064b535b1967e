//! Lists of names that are shown in part.

/// Most names that one finding lists; its count says how many there are.
const LISTED: usize = 10;

/// The first names of a long list.
pub(super) fn first_names<T: Into<String>>(names: impl IntoIterator<Item = T>) -> Vec<String> {
    names.into_iter().take(LISTED).map(Into::into).collect()
}
