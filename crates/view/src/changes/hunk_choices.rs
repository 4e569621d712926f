//! What was answered about the hunks of one file, without the terminal that asks.

use herma_diff::lines::Hunk;

/// What was answered about one hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
}

/// What an answer led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Understood {
    /// It was understood.
    Yes,
    /// It means nothing here.
    Unknown,
    /// No more questions.
    Quit,
}

/// The hunks of a file, with the answers so far.
pub struct Choices<'t> {
    parts: Vec<Hunk<'t>>,
    answers: Vec<Option<Answer>>,
    at: usize,
}

impl<'t> Choices<'t> {
    /// None of them is answered yet.
    pub fn new(parts: Vec<Hunk<'t>>) -> Self {
        let answers = vec![None; parts.len()];
        Self { parts, answers, at: 0 }
    }

    /// Goes to the next hunk that is not decided, and returns its place; `None` if all are.
    pub fn next_open(&mut self) -> Option<usize> {
        let count = self.parts.len();
        let mut places = (0..count).map(|step| (self.at + step) % count);
        self.at = places.find(|place| self.answers[*place].is_none())?;
        Some(self.at)
    }

    /// How many hunks there are; splitting makes more.
    pub fn count(&self) -> usize {
        self.parts.len()
    }

    /// The hunk that is asked about.
    pub fn present(&self) -> &Hunk<'t> {
        &self.parts[self.at]
    }

    /// Takes the answer about the hunk that [`Self::next_open`] went to.
    pub fn answer(&mut self, answer: Option<&str>) -> Understood {
        let at = self.at;
        match answer {
            Some("y") => self.answers[at] = Some(Answer::Yes),
            Some("n") => self.answers[at] = Some(Answer::No),
            Some("a") => self.settle(at, Answer::Yes),
            Some("d") => self.settle(at, Answer::No),
            Some("s") => {
                let split = self.parts[at].split();
                if split.len() < 2 {
                    return Understood::Unknown;
                }
                self.answers.splice(at..=at, vec![None; split.len()]);
                self.parts.splice(at..=at, split);
            }
            Some("j") => self.at += 1,
            Some("k") => {
                self.at = (at + self.parts.len() - 1) % self.parts.len();
                self.answers[self.at] = None;
            }
            None | Some("q") => {
                self.settle(0, Answer::No);
                return Understood::Quit;
            }
            Some(_) => return Understood::Unknown,
        }
        Understood::Yes
    }

    fn settle(&mut self, from: usize, answer: Answer) {
        for open in self.answers.iter_mut().skip(from) {
            *open = open.or(Some(answer));
        }
    }

    /// The hunks that were said yes to.
    pub fn chosen(&self) -> Vec<&Hunk<'t>> {
        let all = self.parts.iter().zip(&self.answers);
        all.filter(|(_, answer)| **answer == Some(Answer::Yes)).map(|(hunk, _)| hunk).collect()
    }
}

#[cfg(test)]
mod tests {
    use herma_diff::lines::hunks;
    use herma_diff::lines::hunks::apply_chosen;

    use super::*;

    #[test]
    fn what_was_said_yes_to_is_chosen_whatever_the_order() {
        let (old, new) = (b"a\nb\nc\nd\ne\n", b"A\nb\nC\nd\nE\n");
        for (answers, made) in [
            ("s n y n", "a\nb\nC\nd\ne\n"),
            ("s j j y n n", "a\nb\nc\nd\nE\n"),
            ("s y k n y q", "a\nb\nC\nd\ne\n"),
            ("s n a", "a\nb\nC\nd\nE\n"),
            ("s y d", "A\nb\nc\nd\ne\n"),
            ("s y", "A\nb\nc\nd\ne\n"),
            ("? y", "A\nb\nC\nd\nE\n"),
        ] {
            let mut choices = Choices::new(hunks(old, new, 3));
            let mut words = answers.split(' ');
            while choices.next_open().is_some() {
                choices.answer(words.next());
            }
            let chosen = apply_chosen(old, choices.chosen()).unwrap();
            assert_eq!(String::from_utf8(chosen).unwrap(), made, "{answers}");
        }
    }
}
