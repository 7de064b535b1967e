//! Reading the tables of a test; unreadable parts become findings.

use crate::error::Result;
use crate::fetch::ByteSource;
use crate::gate::discover::Inventory;
use crate::judge::operators::api::ApiTables;
use crate::judge::operators::rules;
use crate::pair::operators::OperatorTest;
use crate::read::operators::{
    ApiResult, ComparedRow, OperatorDamage, OperatorOutput, OperatorPlace, OperatorRows, TableKind, read_compared,
    read_details, read_results,
};
use crate::result::finding::Finding;
use crate::verdict::Side;

/// Tables that `acc_check` wrote.
pub(super) struct TestedTables {
    details: Vec<OperatorOutput>,
    results: Vec<ApiResult>,
    pub(super) damage: Vec<Finding>,
}

impl TestedTables {
    pub(super) fn read(inventory: &Inventory, test: &OperatorTest, side: Side, table: &str) -> Self {
        let of = Reader { inventory, side, table };
        let (details, results, damage) = of.tables(test, read_details, TableKind::Results);
        Self { details, results, damage }
    }

    pub(super) fn tables(&self) -> ApiTables<'_> {
        ApiTables { details: &self.details, results: &self.results }
    }
}

/// Tables that `api_precision_compare` wrote.
pub(super) struct ComparedTables {
    pub(super) results: Vec<ApiResult>,
    pub(super) details: Vec<ComparedRow>,
    pub(super) damage: Vec<Finding>,
}

impl ComparedTables {
    pub(super) fn read(inventory: &Inventory, test: &OperatorTest, table: &str) -> Self {
        let of = Reader { inventory, side: Side::Candidate, table };
        let (details, results, damage) = of.tables(test, read_compared, TableKind::ComparedResults);
        Self { results, details, damage }
    }
}

struct Reader<'a> {
    inventory: &'a Inventory,
    side: Side,
    table: &'a str,
}

impl Reader<'_> {
    /// The rows of both tables of a test, and their damage.
    fn tables<T: Send>(
        &self,
        test: &OperatorTest,
        read_details: impl Fn(&dyn ByteSource) -> Result<OperatorRows<T>> + Send,
        results: TableKind,
    ) -> (Vec<T>, Vec<ApiResult>, Vec<Finding>) {
        let ((details, first), (results, second)) = rayon::join(
            || self.rows(test.details.as_ref(), read_details),
            || self.rows(test.results.as_ref(), |source| read_results(source, results)),
        );
        (details, results, first.into_iter().chain(second).collect())
    }

    /// The rows of a table that is there, and its damage.
    fn rows<T>(
        &self,
        place: Option<&OperatorPlace>,
        read: impl Fn(&dyn ByteSource) -> Result<OperatorRows<T>>,
    ) -> (Vec<T>, Option<Finding>) {
        let Some(place) = place else { return (Vec::new(), None) };
        let opened = self.inventory.all_files().open(&place.path);
        let finding = Finding::new(&rules::FILE_DAMAGED, place.path.as_str())
            .with("unit", self.table)
            .with("side", self.side.as_str());
        match opened.and_then(|source| read(source.as_ref())) {
            Ok(OperatorRows { rows, damage }) => (rows, damage.map(|damage| told(finding, &damage))),
            Err(error) => (Vec::new(), Some(finding.with("what", "unreadable").with("reason", error.message()))),
        }
    }
}

fn told(finding: Finding, damage: &OperatorDamage) -> Finding {
    match damage {
        OperatorDamage::Empty => finding.with("what", "empty"),
        OperatorDamage::Header => finding.with("what", "header"),
        OperatorDamage::Cut { line } => finding.with("what", "cut").with("line", *line),
        OperatorDamage::Rows { count, line } => finding.with("what", "rows").with("count", *count).with("line", *line),
    }
}
