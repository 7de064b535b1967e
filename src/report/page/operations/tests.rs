#![allow(
    clippy::float_cmp,
    clippy::cast_possible_truncation,
    clippy::cmp_owned,
    clippy::manual_is_multiple_of,
    reason = "what is read back is compared exactly, by the plainest means"
)]

use std::io::Read;

use flate2::read::DeflateDecoder;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::result::operation::RecordedValue;

/// A number as it is read back: nothing, a number, or text.
#[derive(Clone, Debug, PartialEq)]
enum Cell {
    Nothing,
    Number(f32),
    Text(String),
}

/// A block as it is read back: columns of whole numbers, columns of other numbers.
struct Unpacked {
    integers: Vec<Vec<u32>>,
    numbers: Vec<Vec<Cell>>,
    texts: Vec<String>,
}

fn unzigzag(size: u32) -> u32 {
    if size % 2 == 0 { size / 2 } else { !(size / 2) }
}

/// Reads a block as its description says, byte by byte.
fn read(packed: &[u8]) -> Unpacked {
    let mut bytes = Vec::new();
    DeflateDecoder::new(packed).read_to_end(&mut bytes).expect("packed");
    let count = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four")) as usize;
    let (rows, metrics) = (count(0), count(4));
    let cell = |column: usize, row: usize| {
        let plane = |plane: usize| u32::from(bytes[8 + (4 * column + plane) * rows + row]) << (8 * plane);
        (0..4).map(plane).sum::<u32>()
    };
    let tail: Value = serde_json::from_slice(&bytes[8 + 4 * (23 + metrics) * rows..]).expect("JSON");
    let list = |key: &str| -> Vec<String> { serde_json::from_value(tail[key].clone()).expect("texts") };
    let summed = |column: usize| {
        let sum = |before: &mut u32, row: usize| {
            *before = before.wrapping_add(unzigzag(cell(column, row)));
            Some(*before)
        };
        (0..rows).scan(0, sum).collect()
    };
    let words = list("values");
    let number = |bits: u32| match f32::from_bits(bits) {
        number if !number.is_nan() => Cell::Number(number),
        _ if words[(bits & 0x3f_ffff) as usize].is_empty() => Cell::Nothing,
        _ => Cell::Text(words[(bits & 0x3f_ffff) as usize].clone()),
    };
    let column = |column: usize| -> Vec<u32> {
        let base = |row| if (19..23).contains(&column) { cell(column - 4, row) } else { 0 };
        let bits = |row| match column {
            19..23 => base(row).wrapping_add(unzigzag(cell(column, row))),
            _ => cell(column, row),
        };
        (0..rows).map(bits).collect()
    };
    Unpacked {
        integers: (0..13).map(summed).collect(),
        numbers: (13..23 + metrics).map(|at| column(at).into_iter().map(number).collect()).collect(),
        texts: list("texts"),
    }
}

/// Whether `cell` is what a block keeps of `number`: within 2^-`bits`.
fn is_of(cell: &Cell, number: Option<Number>, bits: i32) -> bool {
    match (cell, number) {
        (Cell::Nothing, None) => true,
        (Cell::Number(cell), Some(Number(number))) => {
            f64::from(*cell) == number || (f64::from(*cell) - number).abs() <= number.abs() * 2_f64.powi(-bits)
        }
        (Cell::Text(text), Some(number)) => {
            let shown = serde_json::to_value(number).expect("JSON");
            let far = number.0.is_nan() || (number.0 as f32).is_infinite() || number.0.abs() < 1.2e-38;
            far && shown.as_str().map_or_else(|| *text == shown.to_string(), |word| word == text)
        }
        _ => false,
    }
}

/// Whether `cell` is what a block keeps of a value: whole numbers and texts as they are, other numbers as an `f32`.
fn is_value(cell: &Cell, value: &RecordedValue<'_>) -> bool {
    let text = value.to_string();
    match cell {
        Cell::Nothing => text.is_empty(),
        Cell::Text(cell) => *cell == text || text.starts_with(cell.trim_end_matches('…')),
        Cell::Number(cell) => {
            let number: f64 = text.parse().expect("a number");
            !matches!(value, RecordedValue::Text(_))
                && number as f32 == *cell
                && (number.fract() != 0.0 || number == f64::from(*cell))
        }
    }
}

/// Whether the rows of blocks are the lines.
fn check(lines: &[OperationLine<'_>], table: &OperationTable) {
    let blocks: Vec<Unpacked> = table.packed.iter().map(|packed| read(packed)).collect();
    let texts: Vec<&String> = blocks.iter().flat_map(|block| &block.texts).collect();
    let text = |index: u32| texts[index as usize].as_str();
    let mut rows = blocks.iter().flat_map(|block| (0..block.integers[0].len()).map(move |row| (block, row)));
    for line in lines {
        let (block, row) = rows.next().expect("a row for each line");
        let [unit, order, op, tensor, module, kind, state, reason, types @ .., left, right, counts] =
            std::array::from_fn::<u32, 13, _>(|column| block.integers[column][row]);
        let name = |op: &str, name: u32| match name % 2 {
            0 => format!("{op}.{}", text(name / 2)),
            _ => text(name / 2).to_owned(),
        };
        assert_eq!(table.units[unit as usize], (line.step, line.rank));
        assert_eq!((u64::from(order), text(op), text(module)), (line.order, &*line.op, &*line.module));
        assert_eq!((name(text(op), tensor), text(reason)), (line.tensor.to_string(), &*line.reason));
        assert_eq!((kind, state), (code_of_kind(line.kind), code_of_state(line)));
        assert!(is_of(&block.numbers[0][row], line.error, 12) && is_of(&block.numbers[1][row], line.limit, 12));
        for (side, shown) in [&line.baseline, &line.candidate].into_iter().enumerate() {
            let (named, count) = ([left, right][side], counts >> (4 * side) & 15);
            let Some(shown) = shown else {
                assert_eq!((types[side], named, count), (0, 0, 0));
                continue;
            };
            let shape = if shown.shape.is_empty() { String::new() } else { format!(" {:?}", shown.shape) };
            assert_eq!(text(types[side] - 1), format!("{}{shape}", shown.dtype));
            let own = match named {
                0 => line.tensor.to_string(),
                _ if named % 2 == 0 => format!("{}.{}", text(named / 2), text(tensor / 2)),
                _ => text(named / 2).to_owned(),
            };
            assert_eq!(
                (&*own, count as usize),
                (shown.tensor.as_deref().unwrap_or(&line.tensor), shown.values.len().min(4))
            );
            for (at, value) in shown.values.iter().take(4).enumerate() {
                let cell = &block.numbers[2 + 4 * side + at][row];
                assert!(is_value(cell, value), "{cell:?} {value}");
            }
        }
        for (at, name) in table.metrics.iter().enumerate() {
            let cell = block.numbers.get(10 + at).map_or(&Cell::Nothing, |column| &column[row]);
            let metric = line.metrics.iter().find(|(known, _)| known == name).map(|(_, number)| *number);
            assert!(is_of(cell, metric, 15), "{cell:?} {name} {line:?}");
        }
    }
    assert!(rows.next().is_none());
}

fn value() -> impl Strategy<Value = RecordedValue<'static>> {
    let words = ["", "nan", "true", "007", "0.1", "d41d8cd9", "9".repeat(400).leak()];
    prop_oneof![
        any::<f64>().prop_map(|number| RecordedValue::Number(Number(number))),
        any::<f32>().prop_map(|number| RecordedValue::Number(Number(number.into()))),
        proptest::sample::select(vec![-0.0, 16_777_217.0]).prop_map(|number| RecordedValue::Number(Number(number))),
        any::<i64>().prop_map(RecordedValue::Int),
        any::<i16>().prop_map(|number| RecordedValue::Int(number.into())),
        proptest::sample::select(words.to_vec()).prop_map(|word| RecordedValue::Text(word.into())),
        any::<bool>().prop_map(RecordedValue::Bool),
        Just(RecordedValue::Null),
    ]
}

fn recorded() -> impl Strategy<Value = Option<Recorded<'static>>> {
    let tensors = [None, Some("b.input.0"), Some("b.c.output.0"), Some("another"), Some("")];
    let parts = (proptest::sample::select(tensors.to_vec()), "null|float32", vec(0..9_u64, 0..3), vec(value(), 0..6));
    proptest::option::of(parts.prop_map(|(tensor, dtype, shape, values)| Recorded {
        tensor: tensor.map(Into::into),
        dtype: dtype.into(),
        shape: shape.into(),
        values,
    }))
}

fn lines() -> impl Strategy<Value = Vec<OperationLine<'static>>> {
    let names = (proptest::sample::select(vec!["a", "b.c", "", "梯\"度"]), "[m]{0,2}", proptest::bool::ANY, "|dtype");
    let number = || proptest::option::of(prop_oneof![any::<f64>(), 1e-9..1.0].prop_map(Number));
    let metrics = btree_map("[p-r]", any::<f64>().prop_map(Number), 0..3);
    let states =
        [State::Agrees, State::Differs, State::NotCompared, State::MissingOnBaseline, State::MissingOnCandidate];
    let kinds = [TensorKind::Input, TensorKind::Output, TensorKind::Parameter, TensorKind::Value];
    let codes = (proptest::sample::select(states.to_vec()), proptest::sample::select(kinds.to_vec()));
    let place = (0..2_u64, proptest::option::of(0..2_u64), 0..5_u64);
    let line = (place, names, codes, number(), number(), metrics, recorded(), recorded());
    let line = line.prop_map(|(place, names, codes, error, limit, metrics, baseline, candidate)| {
        let (op, module, is_end, reason) = names;
        OperationLine {
            step: place.0,
            rank: place.1,
            order: place.2,
            op: op.into(),
            module: module.into(),
            tensor: if is_end { format!("{op}.input.0").into() } else { "other".into() },
            kind: codes.1,
            state: codes.0,
            reason: reason.into(),
            error,
            limit,
            reference: None,
            metrics: metrics.into_iter().map(|(name, number)| (name.into(), number)).collect(),
            baseline,
            candidate,
        }
    });
    vec(line, 0..30)
}

fn table(lines: &[OperationLine<'static>]) -> OperationTable {
    OperationTable::from_lines(&lines.into()).expect("in memory")
}

/// Rows in full: their numbers, and their items.
fn in_full(table: &OperationTable) -> Vec<(usize, Vec<Value>)> {
    let mut written = Vec::new();
    table.embed(&mut Embedding(&mut written)).expect("in memory");
    let data: Value = serde_json::from_slice(&written).expect("JSON");
    let rows = data["rows"].as_array().expect("rows").iter().map(|row| row.as_array().expect("a row").clone());
    rows.map(|row| (usize::try_from(row[0].as_u64().expect("a number")).expect("small"), row)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_is_unpacked_is_what_was_added(lines in lines(), times in prop_oneof![8 => Just(1_usize), 1 => Just(600)]) {
        let lines: Vec<OperationLine<'_>> = lines.iter().cycle().take(lines.len() * times).cloned().collect();
        check(&lines, &table(&lines));
    }

    #[test]
    fn rows_in_full_are_those_that_do_not_agree_and_are_near_one(lines in lines(), at_once in 1..12_usize) {
        let mut at = 0;
        let mut before = None;
        let places: Vec<i64> = lines.iter().map(|line| {
            let place = (line.step, line.rank, line.order);
            at += match before {
                Some(last) if last == place => 0,
                Some((step, rank, _)) if (step, rank) == (place.0, place.1) => 1,
                _ => 9,
            };
            before = Some(place);
            at
        }).collect();
        let wrong = || lines.iter().zip(&places).filter(|(line, _)| line.state != State::Agrees);
        let is_near = |place: i64| wrong().any(|(_, other)| (place - other).abs() <= 3);
        let wanted: Vec<usize> = (0..lines.len()).filter(|index| is_near(places[*index])).collect();
        let found = in_full(&table(&lines));
        let mut in_parts = Operations::default();
        lines.chunks(at_once).for_each(|lines| in_parts.add_all(lines).expect("in memory"));
        prop_assert_eq!(&in_full(&in_parts.finish().expect("in memory")), &found);
        prop_assert_eq!(found.iter().map(|(row, _)| *row).collect::<Vec<_>>(), wanted);
        for (row, items) in found {
            let values = |side: &Option<Recorded<'_>>| -> Vec<String> {
                side.iter().flat_map(|side| side.values.iter().take(4)).map(ToString::to_string).collect()
            };
            prop_assert_eq!(&items[16], &Value::from(values(&lines[row].baseline)));
            prop_assert_eq!(&items[17], &Value::from(values(&lines[row].candidate)));
        }
    }
}

fn line(order: u64, state: State) -> OperationLine<'static> {
    let text = format!(
        r#"{{"step":0,"rank":null,"order":{order},"op":"op{order}","tensor":"op{order}.output.0","kind":"output","state":"agrees","baseline":null,"candidate":null}}"#
    );
    let line: OperationLine<'_> = serde_json::from_str(&text).expect("a line");
    OperationLine { state, ..line.into_owned() }
}

#[test]
fn rows_near_one_that_differs_are_the_same_in_parts_where_lines_are_left_out() {
    let long = |order| OperationLine { op: "x".repeat(5000).into(), ..line(order, State::Agrees) };
    let agrees = (0..300).map(|order| if order % 5 == 1 { long(order) } else { line(order, State::Agrees) });
    let lines: Vec<OperationLine<'_>> = agrees.chain([line(300, State::Differs), line(301, State::Agrees)]).collect();
    let wanted = in_full(&table(&lines));
    assert_eq!(wanted.len(), 5, "three before and one behind");
    for at_once in 1..40 {
        let mut operations = Operations::default();
        lines.chunks(at_once).for_each(|lines| operations.add_all(lines).expect("in memory"));
        assert_eq!(in_full(&operations.finish().expect("in memory")), wanted, "{at_once} at once");
    }
}

/// One line of a file may be as long as all others together.
#[test]
fn a_line_that_is_too_long_is_left_out_and_counted() {
    let mut lines =
        vec![line(0, State::Differs), line(1, State::Differs), line(1 << 40, State::Agrees), line(3, State::Agrees)];
    lines[0].op = "x".repeat(5000).into();
    let long = RecordedValue::Text("长".repeat(9000).into());
    let long = Recorded { tensor: None, dtype: "str".into(), shape: [].as_slice().into(), values: vec![long] };
    lines[1].baseline = Some(long);
    lines[1].metrics = (0..200).map(|index| (format!("m{index:03}").into(), Number(1.0))).collect();
    let table = table(&lines);
    assert_eq!((table.rows, table.agreeing, table.total, table.metrics.len()), (2, 1, 4, 64));
    let full = in_full(&table);
    assert_eq!(full[0].1[16][0].as_str().map(str::len), Some(4095 + "…".len()));
    assert_eq!(read(&table.packed[0]).numbers[2][0], Cell::Text(format!("{}…", "长".repeat(133))));
}

#[test]
fn rows_in_full_end_where_the_page_would_be_too_long() {
    let lines: Vec<OperationLine<'_>> = (0..21_000).map(|order| line(order, State::Differs)).collect();
    let table = table(&lines);
    assert_eq!((in_full(&table).len(), table.rows), (20_000, 21_000));
}

#[test]
fn agreeing_lines_give_way_to_others() {
    let mut operations = Operations { agreeing: MOST_AGREEING - 1, rows: MOST_ROWS - 2, ..Operations::default() };
    for state in [State::Agrees, State::Agrees, State::Differs, State::Differs] {
        operations.add(&line(7, state)).expect("in memory");
    }
    let table = operations.finish().expect("in memory");
    assert_eq!((table.rows, table.agreeing, table.total), (MOST_ROWS, MOST_AGREEING, 4));
    assert_eq!(table.packed.iter().map(|packed| read(packed).integers[0].len()).collect::<Vec<_>>(), [2]);
}
