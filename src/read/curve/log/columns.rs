//! Tables that a program prints: a line of names over lines of numbers.

use super::counter_words::is_counter;
use super::names::{Name, Names};
use super::pairs::Reader;
use super::tokens::{Gap, Kind, Token};
use crate::read::curve::lines;

/// Separator of the cells of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parted {
    By(u8),
    Wide,
    Blank,
}

/// Meaning of a column of a printed table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    /// Step of each row.
    Step,
    Epoch,
    /// A metric, with the place of its name in the names of the file.
    Metric(usize),
}

/// A printed table: its separator and its columns.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    parted: Parted,
    columns: Vec<Column>,
}

/// Largest number of columns of a printed table.
const MOST: usize = 256;

impl Columns {
    /// The table whose column names stand in the line that a reader read last; `None` where the line is no header.
    pub(super) fn from_reader(line: &str, reader: &Reader, names: &mut Names) -> Option<Self> {
        if reader.found.pairs.is_empty() { Self::from_header(line, &reader.tokens.list, names) } else { None }
    }

    fn from_header(line: &str, tokens: &[Token], names: &mut Names) -> Option<Self> {
        // A comment may name the columns.
        let (line, tokens) = match tokens.split_first() {
            Some((first, rest)) if first.is_sign(b'#') => (line.trim_start_matches(['#', ' ']), rest),
            _ => (line, tokens),
        };
        let has_number = tokens.iter().any(|token| matches!(token.kind, Kind::Number(_)));
        let is_text =
            |token: &&Token| matches!(token.kind, Kind::Sign(b':' | b'=' | b'{' | b'<' | b'A' | b'R' | b',' | b';'));
        if has_number || tokens.iter().any(|token| is_text(&token)) || tokens.len() > MOST {
            return None;
        }
        let parted = if line.contains('|') {
            Parted::By(b'|')
        } else if line.contains('\t') {
            Parted::By(b'\t')
        } else if tokens.iter().skip(1).any(|token| token.gap >= Gap::Wide) {
            Parted::Wide
        } else {
            Parted::Blank
        };
        let cells = cells(line, parted);
        if cells.len() < 2
            || cells.len() > MOST
            || cells.iter().any(|cell| cell.is_empty() || cell.split(' ').count() > 4)
        {
            return None;
        }
        let column = |name: &&str| match *name {
            "#" => Column::Step,
            "E" => Column::Epoch,
            name if name.to_ascii_lowercase().trim_start_matches("current ").starts_with("epoch")
                && is_counter(name) =>
            {
                Column::Epoch
            }
            name if is_counter(name) => Column::Step,
            name => Column::Metric(names.place(name)),
        };
        let columns: Vec<Column> = cells.iter().map(column).collect();
        let is_told = |column: &Column| match column {
            Column::Metric(name) => names.get(*name).is_some_and(Name::is_key_metric),
            Column::Step | Column::Epoch => false,
        };
        columns.iter().any(is_told).then_some(Self { parted, columns })
    }

    /// The numbers of a row with their columns; `None` where the line is no row.
    pub(super) fn row(&self, line: &str) -> Option<Vec<(Column, f64)>> {
        let parted = if self.parted == Parted::Wide { Parted::Blank } else { self.parted };
        let cells = cells(line, parted);
        // One more cell than columns: the first is the number of the row.
        let skipped = cells.len().checked_sub(self.columns.len()).filter(|more| *more < 2)?;
        let values: Vec<(Column, Option<f64>)> = self
            .columns
            .iter()
            .copied()
            .zip(cells.iter().skip(skipped).map(|cell| lines::parse_number(cell.trim_end_matches('%'))))
            .collect();
        let numbers = values.iter().filter(|(_, value)| value.is_some()).count();
        (numbers * 2 >= values.len() && numbers > 0)
            .then(|| values.into_iter().filter_map(|(column, value)| Some((column, value?))).collect())
    }
}

/// Whether a line is a ruler of a table.
pub(super) fn is_ruler(line: &str) -> bool {
    line.bytes().all(|byte| matches!(byte, b'-' | b'|' | b':' | b'=' | b'+' | b' ' | b'\t'))
}

fn cells(line: &str, parted: Parted) -> Vec<&str> {
    let line = line.trim();
    match parted {
        Parted::By(b'|') => {
            let line = line.strip_prefix('|').unwrap_or(line);
            line.strip_suffix('|').unwrap_or(line).split('|').map(str::trim).collect()
        }
        Parted::By(sign) => line.split(char::from(sign)).map(str::trim).collect(),
        Parted::Wide => line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect(),
        Parted::Blank => line.split_ascii_whitespace().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tokens::Tokens;
    use super::*;

    fn table(header: &str) -> Option<(Columns, Names)> {
        let (mut tokens, mut names) = (Tokens::default(), Names::default());
        tokens.scan(header);
        let columns = Columns::from_header(header, &tokens.list, &mut names)?;
        Some((columns, names))
    }

    #[test]
    fn rows_stand_below_their_names() {
        for (header, row, expected) in [
            (
                "| Training Loss | Epoch | Step | Validation Loss |",
                "| 10.76 | 0.03  | 500  | 11.7 |",
                vec![10.76, 0.03, 500.0, 11.7],
            ),
            (
                "epoch     train_loss  valid_loss  accuracy  time    ",
                "0         4.107232    4.475640    0.163551  00:12",
                vec![0.0, 4.107_232, 4.475_64, 0.163_551],
            ),
            (
                "     step      loss         lr       acc",
                "0       1  10.77202  0.0000100  0.1668",
                vec![1.0, 10.77202, 0.00001, 0.1668],
            ),
            ("Step\tTraining Loss", "500\t2.5", vec![500.0, 2.5]),
            ("E    #       LOSS NER  SCORE", "  0       0     47.85    0.02", vec![0.0, 0.0, 47.85, 0.02]),
        ] {
            let (columns, _) = table(header).expect(header);
            let values: Vec<f64> = columns.row(row).expect(row).into_iter().map(|(_, value)| value).collect();
            assert_eq!(values, expected, "{header}");
        }
        assert!(table("building the model").is_none());
        assert!(is_ruler("|:-----:|----|") && !is_ruler("| a |"));
    }
}
