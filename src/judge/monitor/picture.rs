//! Errors of a rank for documents: a series of the worst row of each step and kind, and a map of layers by steps. Both have a bounded
//! size, however many rows there are.

use std::collections::HashMap;

use crate::hash::FastMap;
use crate::kind::MonitorKind;
use crate::read::monitor::MonitorKey;
use crate::result::number::Number;
use crate::result::unit::{MonitorMap, MonitorPoint};

/// Most points of the series.
const MOST_POINTS: usize = 2000;
/// Most layers whose errors are kept; further layers are not drawn.
const MOST_KEPT: usize = 2000;
/// Most ranks whose pictures have full size; more ranks share that room.
const FULL_RANKS: usize = 4;
/// Layers and steps of a map of full size.
const FULL: (usize, usize) = (200, 500);
/// Smallest number of layers and steps of a map.
const LEAST: (usize, usize) = (25, 100);

/// Size that the picture of one rank may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PictureRoom {
    points: usize,
    layers: usize,
    columns: usize,
}

impl PictureRoom {
    /// The size for each of `ranks` ranks.
    pub(crate) fn for_ranks(ranks: usize) -> Self {
        let share = |full: usize, least: usize| (full * FULL_RANKS / ranks.max(FULL_RANKS)).max(least);
        Self { points: share(MOST_POINTS, 200), layers: share(FULL.0, LEAST.0), columns: share(FULL.1, LEAST.1) }
    }
}

/// Errors while they are collected.
pub(super) struct Picture {
    room: PictureRoom,
    /// Number of steps that will be added.
    steps: usize,
    /// First step of each column.
    columns: Vec<u64>,
    layers: Vec<String>,
    /// Index of each layer in `layers`.
    places: FastMap<String, usize>,
    /// Worst error over its limit, by layer and column.
    cells: Vec<Vec<Option<f64>>>,
    points: Vec<MonitorPoint>,
    /// Layer, step and kind of the culprit, which thinning never removes.
    kept: Option<(String, u64, MonitorKind)>,
}

impl Picture {
    pub(super) fn new(room: PictureRoom, steps: usize) -> Self {
        Self {
            room,
            steps: steps.max(1),
            columns: Vec::new(),
            layers: Vec::new(),
            places: FastMap::default(),
            cells: Vec::new(),
            points: Vec::new(),
            kept: None,
        }
    }

    /// Begins the `nth` step, whose number is `step`.
    pub(super) fn begin_step(&mut self, nth: usize, step: u64) {
        let width = self.steps.min(self.room.columns);
        if nth * width / self.steps >= self.columns.len() {
            self.columns.push(step);
        }
    }

    /// Adds a row with its error, and the `ratio` of the error to its limit.
    pub(super) fn add(&mut self, key: &MonitorKey, name: &str, step: u64, error: f64, ratio: f64) {
        let last =
            self.points.iter_mut().rev().take_while(|point| point.step == step).find(|point| point.kind == key.kind);
        match last {
            Some(point) if point.error.0 >= error => {}
            Some(point) => (point.error, point.name) = (Number(error), name.to_owned()),
            None => {
                self.points.push(MonitorPoint { step, kind: key.kind, error: Number(error), name: name.to_owned() })
            }
        }
        if self.points.len() > 2 * self.room.points {
            self.thin_points();
        }
        let layer = layer_of(&key.name);
        let place = match self.places.get(layer) {
            Some(place) => *place,
            None if self.layers.len() >= MOST_KEPT => return,
            None => {
                self.layers.push(layer.to_owned());
                self.cells.push(Vec::new());
                self.places.insert(layer.to_owned(), self.layers.len() - 1);
                self.layers.len() - 1
            }
        };
        let Some(cells) = self.cells.get_mut(place) else { return };
        cells.resize(self.columns.len().max(1), None);
        if let Some(cell) = cells.last_mut() {
            *cell = Some(cell.map_or(ratio, |worst: f64| worst.max(ratio)));
        }
    }

    /// Marks the culprit's row, so that it is drawn.
    pub(super) fn keep_culprit(&mut self, key: &MonitorKey, step: u64) {
        self.kept = Some((layer_of(&key.name).to_owned(), step, key.kind));
    }

    /// Keeps the worse one of each two neighbouring points of a kind.
    fn thin_points(&mut self) {
        let kept = self.kept.clone();
        let is_kept = |point: &MonitorPoint| {
            kept.as_ref().is_some_and(|(_, step, kind)| point.step == *step && point.kind == *kind)
        };
        let mut waiting: HashMap<MonitorKind, MonitorPoint> = HashMap::new();
        let mut thinned = Vec::with_capacity(self.points.len() / 2 + 1);
        for point in std::mem::take(&mut self.points) {
            if is_kept(&point) {
                thinned.push(point);
                continue;
            }
            match waiting.remove(&point.kind) {
                None => {
                    waiting.insert(point.kind, point);
                }
                Some(before) => thinned.push(if before.error.0 >= point.error.0 { before } else { point }),
            }
        }
        thinned.extend(waiting.into_values());
        thinned.sort_by_key(|point| (point.step, point.kind));
        self.points = thinned;
    }

    /// Returns the series and the map.
    pub(super) fn finish(mut self) -> (Vec<MonitorPoint>, Option<MonitorMap>) {
        while self.points.len() > self.room.points {
            self.thin_points();
        }
        self.points.sort_by_key(|point| (point.step, point.kind));
        if self.layers.is_empty() {
            return (self.points, None);
        }
        let width = self.columns.len();
        let worst = |cells: &[Option<f64>]| cells.iter().flatten().copied().fold(0.0, f64::max);
        let is_kept = |layer: &String| self.kept.as_ref().is_some_and(|(kept, ..)| kept == layer);
        let mut order: Vec<usize> = (0..self.layers.len()).collect();
        let weight = |place: &usize| {
            let kept = self.layers.get(*place).is_some_and(is_kept);
            (kept, self.cells.get(*place).map_or(0.0, |cells| worst(cells)))
        };
        order.sort_by(|a, b| {
            let (a, b) = (weight(a), weight(b));
            b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
        });
        order.truncate(self.room.layers);
        order.sort_unstable();
        let row = |place: &usize| {
            let mut cells = self.cells.get(*place).cloned().unwrap_or_default();
            cells.resize(width, None);
            cells.into_iter().map(|cell| cell.map(|ratio| Number(rounded(ratio)))).collect()
        };
        let map = MonitorMap {
            cells: order.iter().map(row).collect(),
            layers: order.iter().filter_map(|place| self.layers.get(*place).cloned()).collect(),
            steps: self.columns,
        };
        (self.points, Some(map))
    }
}

/// The module of a tensor: `fc1` of `fc1.weight` and of `fc1.input.0`.
pub(crate) fn layer_of(name: &str) -> &str {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let Some((rest, last)) = name.rsplit_once('.') else { return name };
    let is_port = |name: &str| name.ends_with(".input") || name.ends_with(".output");
    let layer =
        if is_number(last) && is_port(rest) { rest.rsplit_once('.').map_or(rest, |(layer, _)| layer) } else { rest };
    if layer.is_empty() { "." } else { layer }
}

/// Rounds to three digits, as many as a colour can show.
fn rounded(ratio: f64) -> f64 {
    if ratio > 0.0 && ratio.is_finite() { format!("{ratio:.2e}").parse().unwrap_or(ratio) } else { ratio }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> MonitorKey {
        MonitorKey { model: 0, kind: MonitorKind::Actv, stage: 0, name: name.into(), micro_step: 0, occurrence: 0 }
    }

    #[test]
    fn layers_are_modules() {
        for (name, layer) in [("fc1.weight", "fc1"), ("a.fc1.input.0", "a.fc1"), (".input.0", "."), ("a.0.b", "a.0")] {
            assert_eq!(layer_of(name), layer, "{name}");
        }
    }

    #[test]
    fn thinning_keeps_the_culprit_and_the_bounds() {
        let mut picture = Picture::new(PictureRoom::for_ranks(64), 3000);
        for step in 0..3000_u64 {
            picture.begin_step(usize::try_from(step).expect("small"), step);
            if step == 1500 {
                picture.keep_culprit(&key("b.output.0"), step);
            }
            for name in (0..60).map(|layer| format!("layer{layer}.output.0")).chain(["b.output.0".to_owned()]) {
                let error = if step == 777 { 1.0 } else { 0.1 };
                picture.add(&key(&name), &name, step, error, error);
            }
        }
        let (points, map) = picture.finish();
        let map = map.expect("a map");
        assert!(points.len() <= 200 && points.iter().any(|point| point.step == 1500));
        assert!(points.iter().any(|point| point.error.0 > 0.9), "the worst point stays");
        assert!(map.layers.contains(&"b".to_owned()) && map.layers.len() == 25 && map.steps.len() == 100);
        assert!(map.cells.iter().all(|row| row.len() == 100));
    }
}
