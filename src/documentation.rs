//! Addresses of the project's documents, for messages that people read without a checkout.
//!
//! They lead to the pages of the program's own version, as the forge shows them.

/// Address of a page below `docs/` as a constant: of its name, with an anchor or without one.
#[doc(hidden)]
#[macro_export]
macro_rules! documentation {
    ($page:literal) => {
        concat!("https://github.com/precision-gate/precision-gate/blob/v", env!("CARGO_PKG_VERSION"), "/docs/", $page)
    };
}

/// Address of the folder of all pages, with a slash at its end.
pub const DOCUMENTS: &str = documentation!("");

/// Address of the page `page` below `docs/`, which may have an anchor.
pub fn address(page: &str) -> String {
    [DOCUMENTS, page].concat()
}
