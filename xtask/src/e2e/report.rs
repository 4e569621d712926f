//! Tables, as Markdown has them.

use super::drivers::Driver;
use crate::Result;

/// What came of one of several runs of an agent.
#[derive(Debug)]
pub struct Outcome {
    /// The cell of the table.
    pub cell: String,
    /// What is not as it should be.
    pub problems: Vec<String>,
}

impl Outcome {
    /// That of a run, and of one that could not be made.
    pub fn of(run: Result<Self>) -> Self {
        run.unwrap_or_else(|error| Self {
            cell: "not run".to_owned(),
            problems: vec![error.to_string()],
        })
    }
}

/// A table with a verdict in its last column, and what is behind every bad one.
#[derive(Debug)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    problems: Vec<String>,
}

impl Table {
    /// An empty table.
    pub fn new(head: &[&str]) -> Self {
        Self {
            head: head.iter().map(|&cell| cell.to_owned()).collect(),
            rows: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Has each agent make its row: cells, and what is not as it should be.
    pub fn fill(
        &mut self,
        drivers: &[&'static dyn Driver],
        run: impl Fn(&'static dyn Driver) -> Result<(Vec<String>, Vec<String>)>,
    ) {
        for driver in drivers {
            eprintln!("── {}", driver.word());
            match run(*driver) {
                Ok((cells, problems)) => self.push(driver.word(), cells, problems),
                Err(error) => self.push(driver.word(), Vec::new(), vec![error.to_string()]),
            }
        }
    }

    /// Adds the row of an agent that ran several times, each time under a name.
    pub fn push_outcomes(&mut self, name: &str, row: Vec<(&str, Outcome)>) {
        let mut cells = Vec::new();
        let mut problems = Vec::new();
        for (word, outcome) in row {
            cells.push(outcome.cell);
            let named = outcome.problems.into_iter();
            problems.extend(named.map(|problem| format!("{word}: {problem}")));
        }
        self.push(name, cells, problems);
    }

    /// Adds a row; it is a good one if there are no problems.
    pub fn push(&mut self, name: &str, cells: Vec<String>, problems: Vec<String>) {
        let verdict = if problems.is_empty() { "PASS" } else { "FAIL" };
        let mut row = vec![name.to_owned()];
        row.extend(cells);
        row.resize(self.head.len() - 1, "-".to_owned());
        row.push(verdict.to_owned());
        self.rows.push(row);
        self.problems.extend(problems.into_iter().map(|problem| format!("{name}: {problem}")));
    }

    /// Prints it. Returns whether all is well.
    pub fn print(&self) -> bool {
        let lines = std::iter::once(&self.head).chain(&self.rows);
        let widths: Vec<usize> = (0..self.head.len())
            .map(|column| {
                let cells = lines.clone().map(|row| row[column].chars().count());
                cells.max().unwrap_or(0)
            })
            .collect();
        let line = |row: &[String]| {
            let cells: Vec<_> =
                row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
            println!("| {} |", cells.join(" | "));
        };
        println!();
        line(&self.head);
        let rule: Vec<_> = widths.iter().map(|&width| "-".repeat(width)).collect();
        line(&rule);
        self.rows.iter().for_each(|row| line(row));
        println!();
        for problem in &self.problems {
            println!("{problem}");
        }
        self.problems.is_empty()
    }
}
