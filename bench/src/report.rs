//! The header and the tables, printed or saved.

use std::path::Path;

use serde_json::json;

use crate::contenders::Outcome;
use crate::header::Header;
use crate::table::Table;

/// The results of a run.
#[derive(Debug)]
pub(crate) struct Report {
    pub header: Header,
    pub tables: Vec<Table>,
}

impl Report {
    pub(crate) fn to_markdown(&self) -> String {
        let mut out = self.header.to_markdown();
        for table in &self.tables {
            out.push('\n');
            out.push_str(&table.to_markdown());
        }
        out
    }

    /// `{version, run, tables}`; the shape of a table is described at [`Table::to_json`].
    pub(crate) fn to_json(&self) -> Outcome<String> {
        let tables: Vec<_> = self.tables.iter().map(Table::to_json).collect();
        Ok(serde_json::to_string_pretty(&json!({ "version": 1, "run": self.header.to_json(), "tables": tables }))?)
    }

    /// Saves the run in `bench/runs/`.
    pub(crate) fn save(&self, name: &str) -> Outcome<String> {
        let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("runs");
        std::fs::create_dir_all(&runs)?;
        let file = format!("{}-{name}.md", self.header.date);
        std::fs::write(runs.join(&file), self.to_markdown())?;
        Ok(file)
    }
}
