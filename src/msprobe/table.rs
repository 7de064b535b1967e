//! Tables as msprobe writes them.

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
    pub fn text(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Text(text) => text.clone(),
            Self::Int(value) => value.to_string(),
            Self::Float(value) => super::python::float(*value),
            Self::Infinite(value) => format!(" {}", super::python::float(*value)),
            Self::Bool(value) => if *value { "True" } else { "False" }.into(),
        }
    }
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
