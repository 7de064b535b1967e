//! Tables as msprobe writes them.

use std::borrow::Cow;

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Nothing.
    Empty,
    /// Text, as it is written.
    Text(Cow<'a, str>),
    /// A whole number.
    Int(i64),
    /// A number, written as Python writes it.
    Float(f64),
    /// A text that is a number as Python writes it.
    Written(f64),
    /// The same with a percent sign after it.
    Percent(f64),
    /// An infinite number of a compare table: CSV writes a space before it, so that spreadsheets show it.
    Infinite(f64),
    /// `True` or `False`.
    Bool(bool),
}

impl From<&str> for Cell<'_> {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned().into())
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl<'a> From<Cow<'a, str>> for Cell<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Self::Text(text)
    }
}

impl<'a> Cell<'a> {
    /// A text that many cells have.
    pub const fn word(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    /// The cell with a text of somebody else.
    pub fn borrowed(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    /// The same cell with a text of its own.
    pub fn to_owned(&self) -> Cell<'static> {
        match self.reborrow() {
            Cell::Text(text) => Cell::Text(text.into_owned().into()),
            Cell::Empty => Cell::Empty,
            Cell::Int(value) => Cell::Int(value),
            Cell::Float(value) => Cell::Float(value),
            Cell::Written(value) => Cell::Written(value),
            Cell::Percent(value) => Cell::Percent(value),
            Cell::Infinite(value) => Cell::Infinite(value),
            Cell::Bool(value) => Cell::Bool(value),
        }
    }

    /// The same cell with the text of this one.
    pub(crate) fn reborrow(&self) -> Cell<'_> {
        match self {
            Self::Text(text) => Cell::borrowed(text),
            Self::Empty => Cell::Empty,
            Self::Int(value) => Cell::Int(*value),
            Self::Float(value) => Cell::Float(*value),
            Self::Written(value) => Cell::Written(*value),
            Self::Percent(value) => Cell::Percent(*value),
            Self::Infinite(value) => Cell::Infinite(*value),
            Self::Bool(value) => Cell::Bool(*value),
        }
    }

    /// The cell as CSV holds it.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Empty => "".into(),
            Self::Text(text) => Cow::Borrowed(text),
            Self::Bool(value) => if *value { "True" } else { "False" }.into(),
            number => {
                let mut text = String::new();
                number.write_number(&mut text);
                text.into()
            }
        }
    }

    /// Adds the text of a number.
    fn write_number(&self, out: &mut String) {
        match self {
            Self::Int(value) => {
                out.push_str(if *value < 0 { "-" } else { "" });
                super::python::write_whole(value.unsigned_abs(), out);
            }
            Self::Float(value) | Self::Written(value) => super::python::write_float(*value, out),
            Self::Percent(value) => {
                super::python::write_float(*value, out);
                out.push('%');
            }
            Self::Infinite(value) => {
                out.push(' ');
                super::python::write_float(*value, out);
            }
            Self::Empty | Self::Text(_) | Self::Bool(_) => {}
        }
    }

    /// The cell as a table holds it, with a leading apostrophe where a spreadsheet could take it for a formula.
    pub(crate) fn guarded_text(&self) -> Cow<'_, str> {
        let text = self.text();
        if matches!(self, Self::Text(_)) && may_become_formula(&text) { format!("'{text}").into() } else { text }
    }

    /// Adds the cell as CSV holds it: guarded, and quoted where a reader needs that. Tables have millions of cells, so that
    /// nothing is made for one alone.
    pub(crate) fn write_csv(&self, out: &mut String) {
        match self {
            Self::Empty => {}
            Self::Bool(value) => out.push_str(if *value { "True" } else { "False" }),
            Self::Text(text) => write_csv_text(text, out),
            number => number.write_number(out),
        }
    }
}

/// Adds a text as CSV holds it, with minimal quoting. A line break of either kind ends a record to some reader.
fn write_csv_text(text: &str, out: &mut String) {
    // Most cells, by one look at their characters.
    let is_special =
        |byte: u8| (byte == b',') | (byte == b'"') | (byte == b'\n') | (byte == b'\r') | (byte == BEGINS_FORMULA);
    let special = super::bytes::position(text.as_bytes(), is_special);
    if special.is_none() && starts_plainly(text) {
        return out.push_str(text);
    }
    let guard = if may_become_formula(text) { "'" } else { "" };
    if !text.contains([',', '"', '\n', '\r']) {
        return out.extend([guard, text]);
    }
    out.extend(["\"", guard]);
    let mut rest = text;
    while let Some((before, behind)) = memchr::memchr(b'"', rest.as_bytes()).map(|at| rest.split_at(at + 1)) {
        out.extend([before, "\""]);
        rest = behind;
    }
    out.extend([rest, "\""]);
}

/// The character after which a formula may begin within a text.
const BEGINS_FORMULA: u8 = b';';

/// Whether a text begins with a character that no formula begins with.
fn starts_plainly(text: &str) -> bool {
    let is_plain = |first: &u8| first.is_ascii_alphanumeric() || b"([{<\"'_/.".contains(first);
    text.as_bytes().first().is_none_or(is_plain)
}

/// Whether a spreadsheet could take a text for a formula, now or once it was saved and read again: by msprobe's rule, and
/// also after what some programs drop from a cell's start. A tab or a line break there may end the cell before
/// (OWASP, CSV injection).
///
/// A percentage and a lone sign are not formulas to any spreadsheet.
fn may_become_formula(text: &str) -> bool {
    if starts_plainly(text) && memchr::memchr(BEGINS_FORMULA, text.as_bytes()).is_none() {
        return false;
    }
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
pub struct MsprobeTable {
    /// File name without ending: `compare_result_step0_rank1`, `config_check_env`.
    pub name: String,
    /// Sheet name in a workbook.
    pub sheet: String,
    /// Column titles.
    pub columns: Vec<String>,
    /// Rows of as many cells.
    pub rows: Vec<Vec<Cell<'static>>>,
}

/// Takes rows, cell by cell from left to right.
pub trait TakeCells {
    /// Takes the next cell of a row.
    fn cell(&mut self, cell: &Cell<'_>);
    /// Ends a row.
    fn end_row(&mut self);
}

/// Makes the rows of a group, by its index, and hands on their cells.
type MakeRows<'a> = dyn Fn(usize, &mut dyn TakeCells) + Sync + 'a;

/// Rows that are kept.
#[derive(Default)]
struct Kept {
    rows: Vec<Vec<Cell<'static>>>,
    /// Cells of the row at hand.
    row: Vec<Cell<'static>>,
}

impl TakeCells for Kept {
    fn cell(&mut self, cell: &Cell<'_>) {
        self.row.push(cell.to_owned());
    }

    fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }
}

/// A table whose rows are made when they are requested, on any thread.
pub struct MsprobeRows<'a> {
    /// File name without extension: `compare_result_step0_rank1`, `config_check_env`.
    pub name: String,
    /// Sheet name in a workbook.
    pub sheet: String,
    /// Column titles.
    pub columns: Vec<String>,
    /// Number of groups of rows, from top to bottom.
    pub groups: usize,
    /// Makes the rows of one group and hands them on.
    pub rows: Box<MakeRows<'a>>,
}

impl From<MsprobeRows<'_>> for MsprobeTable {
    fn from(MsprobeRows { name, sheet, columns, groups, rows: make }: MsprobeRows<'_>) -> Self {
        let mut kept = Kept::default();
        (0..groups).for_each(|group| make(group, &mut kept));
        Self { name, sheet, columns, rows: kept.rows }
    }
}

impl From<MsprobeTable> for MsprobeRows<'_> {
    fn from(MsprobeTable { name, sheet, columns, rows }: MsprobeTable) -> Self {
        Self {
            name,
            sheet,
            columns,
            groups: rows.len(),
            rows: Box::new(move |row, out| {
                if let Some(cells) = rows.get(row) {
                    cells.iter().for_each(|cell| out.cell(cell));
                    out.end_row();
                }
            }),
        }
    }
}

/// Whether a spreadsheet could take a text for a formula, by msprobe's rule: no number (cut at `;`, as Python's
/// `float` reads it), and `+ - = % @` or a full-width twin at the start or after a `;`.
pub(crate) fn is_formula_like(text: &str) -> bool {
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
    fn csv_is_quoted_where_a_reader_needs_it() {
        let texts = ["a", "a,b", "a\"b", "\"", "a\nb", "a\rb", "", " x", "=1,\"2\"", "[8, 128]", "余弦", "'"];
        let cells = texts.map(Cell::from);
        let numbers =
            [Cell::Empty, Cell::Int(-12), Cell::Int(i64::MIN), Cell::Int(0), Cell::Float(1e-9), Cell::Percent(2.5)];
        let others = [Cell::Infinite(f64::INFINITY), Cell::Written(-0.5), Cell::Bool(true), Cell::Float(f64::NAN)];
        for cell in cells.iter().chain(&numbers).chain(&others) {
            let mut written = String::new();
            cell.write_csv(&mut written);
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record([&*cell.guarded_text(), "end"]).expect("a record");
            let expected = String::from_utf8(writer.into_inner().expect("written")).expect("text");
            assert_eq!(format!("{written},end\n"), expected);
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
