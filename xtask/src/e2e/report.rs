//! Tables, as Markdown has them.

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

    /// Adds a row for something that could not even be tried.
    pub fn push_failure(&mut self, name: &str, problem: &str) {
        self.push(name, Vec::new(), vec![problem.to_owned()]);
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
