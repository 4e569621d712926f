//! What a fuzzer says of itself.

/// How far a target came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// How many inputs it was given.
    pub executions: u64,
    /// How many edges of the program the files it began with reach, those of earlier runs included.
    pub edges_of_seeds: u64,
    /// How many all its inputs reach.
    pub edges: u64,
    /// How many inputs were worth keeping.
    pub corpus: u64,
}

impl Progress {
    /// Reads a log. One that ends in a crash has no figures at its end, so the last line that has any counts.
    pub fn read(log: &str) -> Self {
        let mut progress = Self::default();
        for line in log.lines() {
            if let Some(count) = line.strip_prefix("stat::number_of_executed_units:") {
                progress.executions = count.trim().parse().unwrap_or(progress.executions);
            }
            let Some((executions, rest)) = line.strip_prefix('#').and_then(|l| l.split_once('\t'))
            else {
                continue;
            };
            let Some(edges) = number_after(rest, "cov: ") else {
                continue;
            };
            progress.executions = executions.parse().unwrap_or(progress.executions);
            progress.edges = edges;
            progress.corpus = number_after(rest, "corp: ").unwrap_or(progress.corpus);
            if rest.starts_with("INITED") {
                progress.edges_of_seeds = edges;
            }
        }
        progress
    }
}

fn number_after(text: &str, word: &str) -> Option<u64> {
    let (_, rest) = text.split_once(word)?;
    let end = rest.find(|c: char| !c.is_ascii_digit());
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_a_run_are_read_from_its_log() {
        let log = "INFO: seed corpus: files: 3\n\
                   #4\tINITED cov: 68 ft: 74 corp: 3/30b exec/s: 0 rss: 40Mb\n\
                   #600\tNEW    cov: 80 ft: 90 corp: 4/40b lim: 4 exec/s: 0 rss: 41Mb\n\
                   #2097152\tpulse  cov: 80 ft: 91 corp: 5/40b lim: 4 exec/s: 90 rss: 41Mb\n";
        let crashed = Progress { executions: 2_097_152, edges_of_seeds: 68, edges: 80, corpus: 5 };
        assert_eq!(Progress::read(log), crashed);
        let ended = format!("{log}stat::number_of_executed_units: 2100000\n");
        assert_eq!(Progress::read(&ended).executions, 2_100_000);
        assert_eq!(Progress::read("nothing"), Progress::default());
    }
}
