//! Tables as msprobe writes them.

use std::borrow::Cow;

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing.
    Empty,
    /// Text, as it is written.
    Text(String),
    /// A whole number.
    Int(i64),
    /// A number, written as Python writes it.
    Float(f64),
    /// An infinite number of a compare table: CSV writes a space before it, so that spreadsheets show it.
    Infinite(f64),
    /// `True` or `False`.
    Bool(bool),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl Cell {
    /// The cell as CSV holds it.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Empty => "".into(),
            Self::Text(text) => text.into(),
            Self::Int(value) => value.to_string().into(),
            Self::Float(value) => super::python::float(*value).into(),
            Self::Infinite(value) => format!(" {}", super::python::float(*value)).into(),
            Self::Bool(value) => if *value { "True" } else { "False" }.into(),
        }
    }

    /// The cell as a table holds it, with a leading apostrophe where a spreadsheet could take it for a formula.
    pub fn guarded_text(&self) -> Cow<'_, str> {
        let text = self.text();
        if matches!(self, Self::Text(_)) && may_become_formula(&text) { format!("'{text}").into() } else { text }
    }
}

/// Whether a spreadsheet could take a text for a formula, now or once it was saved and read again: by msprobe's rule, and
/// also after what some programs drop from a cell's start. A tab or a line break there may end the cell before
/// (OWASP, CSV injection).
///
/// A percentage and a lone sign are not formulas to any spreadsheet.
fn may_become_formula(text: &str) -> bool {
    let is_harmless =
        |text: &str| text.chars().count() == 1 || text.strip_suffix('%').is_some_and(super::python::is_float);
    let parts: Vec<&str> = text.split(';').map(|part| part.trim_start_matches(is_dropped)).collect();
    let shown = parts.join(";");
    text.starts_with(['\t', '\r', '\n']) || (is_formula_like(&shown) && !is_harmless(&shown))
}

/// Characters that a program may drop before it looks at a cell: white space and invisible ones. More than that is
/// dropped here, since
/// a guard too many does no harm; letters, digits and the signs of a keyboard are not.
fn is_dropped(character: char) -> bool {
    !character.is_alphanumeric() && !character.is_ascii_graphic() && !"＝＋－％＠".contains(character)
}

/// One table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// File name without ending: `compare_result_step0_rank1`, `config_check_env`.
    pub name: String,
    /// Sheet name in a workbook.
    pub sheet: String,
    /// Column titles.
    pub columns: Vec<String>,
    /// Rows of as many cells.
    pub rows: Vec<Vec<Cell>>,
}

/// A table whose rows are made one after the other, as they are asked for.
pub struct Rows<'a> {
    /// File name without ending, as [`Table::name`].
    pub name: String,
    /// Name of the sheet, as [`Table::sheet`].
    pub sheet: String,
    /// Titles of the columns, as [`Table::columns`].
    pub columns: Vec<String>,
    /// The rows, from top to bottom.
    pub rows: Box<dyn Iterator<Item = Vec<Cell>> + 'a>,
}

impl From<Rows<'_>> for Table {
    fn from(Rows { name, sheet, columns, rows }: Rows<'_>) -> Self {
        Self { name, sheet, columns, rows: rows.collect() }
    }
}

impl From<Table> for Rows<'_> {
    fn from(Table { name, sheet, columns, rows }: Table) -> Self {
        Self { name, sheet, columns, rows: Box::new(rows.into_iter()) }
    }
}

/// Whether a spreadsheet could take a text for a formula, by msprobe's rule: no number (cut at `;`, as Python's
/// `float` reads it), and `+ - = % @` or a full-width twin at the start or after a `;`.
pub fn is_formula_like(text: &str) -> bool {
    let risky = |part: &str| part.starts_with(['+', '-', '=', '%', '@', '＋', '－', '＝', '％', '＠']);
    text.split(';').any(risky) && !text.split(';').all(super::python::is_float)
}

#[cfg(test)]
mod tests {
    use super::{Cell, is_formula_like};

    #[test]
    fn cells_that_could_become_formulas_are_guarded() {
        let guarded = |text: &str| Cell::from(text).guarded_text().starts_with('\'');
        for text in
            ["=1+1", " =1+1", "\t=1", "\u{a0}@x", "\u{feff}+x", "\u{200b}-x", "a; =1", "＝1", " ＋x", "－x", "＠x"]
        {
            assert!(guarded(text), "{text:?}");
        }
        for text in ["\tx", "\rx", "\nx", "\t1"] {
            assert!(guarded(text), "{text:?} may end the cell before");
        }
        for text in ["-1", " -1 ", "1;-2", "-", "-5%", " x", "a=b", "", "level0:NA;level1:H-D_R", "x\ty"] {
            assert!(!guarded(text), "{text:?}");
        }
    }

    #[test]
    fn formulas_are_told_from_numbers() {
        for text in ["=1+1", "@ring", "--flag", "a;=b", "＝1", "-1;x", "-"] {
            assert!(is_formula_like(text), "{text}");
        }
        for text in ["-1", "+1.5e-3", "-inf", "1;-2", "a=b", "", " -1 ", "-1_000", "level0:NA;level1:H-D_R"] {
            assert!(!is_formula_like(text), "{text}");
        }
    }
}
