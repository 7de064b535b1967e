//! The colours of pages and pictures, in one list that style sheets and pictures share.
//!
//! A page has a light and a dark variant of each colour; pictures have a white background and use the light one.

use std::fmt::Write;

/// A colour: its name in style sheets, and both of its variants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Colour {
    name: &'static str,
    light: u32,
    dark: u32,
}

impl Colour {
    const fn new(name: &'static str, light: u32, dark: u32) -> Self {
        Self { name, light, dark }
    }

    /// Red, green and blue on white paper.
    pub(super) const fn on_paper(self) -> [u8; 3] {
        let [_, red, green, blue] = self.light.to_be_bytes();
        [red, green, blue]
    }
}

pub(super) const INK: Colour = Colour::new("ink", 0x001c_2330, 0x00e6_eaf0);
pub(super) const QUIET: Colour = Colour::new("quiet", 0x0056_6070, 0x009f_a9b8);
pub(super) const PAPER: Colour = Colour::new("paper", 0x00ff_ffff, 0x0012_161c);
const PANEL: Colour = Colour::new("panel", 0x00f4_f6f9, 0x001a_2029);
pub(super) const LINE: Colour = Colour::new("line", 0x00d5_dbe3, 0x0032_3b48);
const ACCENT: Colour = Colour::new("accent", 0x000b_5cba, 0x006c_b0ff);
pub(super) const PASS: Colour = Colour::new("pass", 0x001a_7030, 0x004a_c26b);
pub(super) const WARN: Colour = Colour::new("warn", 0x008a_5c00, 0x00d9_ad33);
pub(super) const INCOMPLETE: Colour = Colour::new("incomplete", 0x007a_45d6, 0x00b9_8cf5);
pub(super) const FAIL: Colour = Colour::new("fail", 0x00c1_1f2c, 0x00ff_7b72);
const SKIPPED: Colour = Colour::new("skipped", 0x005f_6874, 0x0094_9daa);
pub(super) const BASELINE: Colour = Colour::new("baseline", 0x000b_5cba, 0x006c_b0ff);
pub(super) const CANDIDATE: Colour = Colour::new("candidate", 0x00c2_410c, 0x00ff_a657);
pub(super) const LIMIT: Colour = Colour::new("limit", 0x006e_7781, 0x009a_a5b4);
pub(super) const INHERITED: Colour = Colour::new("inherited", 0x008a_94a3, 0x0074_8094);

const ALL: [Colour; 15] = [
    INK, QUIET, PAPER, PANEL, LINE, ACCENT, PASS, WARN, INCOMPLETE, FAIL, SKIPPED, BASELINE, CANDIDATE, LIMIT,
    INHERITED,
];

/// The colours as variables of a style sheet, in light and dark.
pub(super) fn style() -> String {
    let of = |pick: fn(&Colour) -> u32| {
        ALL.iter().fold(String::new(), |mut text, colour| {
            let _written = write!(text, " --{}: #{:06x};", colour.name, pick(colour));
            text
        })
    };
    let (light, dark) = (of(|colour| colour.light), of(|colour| colour.dark));
    format!(":root {{{light} }}\n@media (prefers-color-scheme: dark) {{ :root {{{dark} }} }}\n")
}
