//! Curves that are larger than the memory for them: the same result, from disk.

use std::fmt::Write;
use std::sync::Arc;

use precision_gate::fetch::{Disk, MemorySource, Room};
use precision_gate::gate::loss;
use precision_gate::policy::Policy;
use precision_gate::read::curve::{self, CurveFile};

/// Bytes of memory, a small part of what the points below take.
const SMALL: u64 = 64 << 10;
const ROWS: u64 = 150_000;

/// A table of four metrics whose steps are regular or not, whose run was resumed or not, with empty cells and a NaN.
fn table(drift: f64, interval: impl Fn(u64) -> u64, resumed: bool) -> String {
    let mut text = "step,loss,grad_norm,lr,act_norm\n".to_owned();
    for row in 0..ROWS {
        let step = if resumed && row > ROWS / 2 { interval(row - ROWS / 10) } else { interval(row) };
        let loss = (2.0 + 800.0 / (100.0 + row as f64) + (row as f64 * 1.7).sin() * 0.1) * (1.0 + drift);
        let norm = if row % 1000 == 7 { String::new() } else { format!("{}", loss * 0.5 + drift) };
        let act = if row == 1234 { "nan".to_owned() } else { format!("{}", loss.sqrt()) };
        writeln!(text, "{step},{loss},{norm},0.0003,{act}").expect("text");
    }
    text
}

fn read(text: &str, room: &Arc<Room>) -> Vec<CurveFile> {
    let source = Arc::new(MemorySource::new("metrics.csv", text.as_bytes().to_vec()));
    let head = &text.as_bytes()[..1000];
    let format = curve::recognise(head, source.as_ref()).expect("a table");
    curve::read(source, format, room).expect("sound")
}

#[test]
fn curves_that_do_not_fit_in_memory_give_the_same_result() {
    let irregular = |row: u64| row * 10 + row * row % 7;
    for (interval, resumed) in
        [(&(|row: u64| row + 1) as &dyn Fn(u64) -> u64, false), (&irregular, false), (&irregular, true)]
    {
        let texts = [table(0.0, interval, resumed), table(0.02, interval, resumed)];
        let judged = |room: &Arc<Room>| {
            let [baseline, candidate] = texts.each_ref().map(|text| read(text, room));
            let outcome = loss::judge(&baseline, &candidate, &Policy::default(), None).expect("judged");
            (
                serde_json::to_string(&outcome.check).expect("JSON"),
                serde_json::to_string(&outcome.observations).expect("JSON"),
            )
        };
        let folder = tempfile::tempdir().expect("a folder");
        let disk = Disk::new(folder.path().to_owned(), 1 << 30);
        let room = Room::new(disk.clone(), SMALL);
        let (stored, kept) = (judged(&room), judged(&Room::unlimited()));
        assert!(stored == kept, "resumed: {resumed}");
        assert!(disk.reserve("file", (1 << 30) - 8 * ROWS).is_err(), "points were on disk");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "no name is left");
    }
}
