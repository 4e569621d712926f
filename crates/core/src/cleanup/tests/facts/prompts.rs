//! Tests of prompts.

use super::*;

/// A checkpoint of each word: `-` is nobody's prompt, `a1` is session a's prompt 1, and `a1!` a tool of it.
fn boundaries(words: &str) -> Vec<usize> {
    let of = |word: &str| {
        let (prompt, tool) = word.strip_suffix('!').map_or((word, None), |it| (it, Some("Edit")));
        let (session, turn) = prompt.split_at_checked(1).filter(|(_, turn)| !turn.is_empty())?;
        let [session, turn, tool] =
            [Some(session), Some(turn), tool].map(|text| text.map(str::to_owned));
        OfPrompt::of(Facts::of(None, session, turn, tool))
    };
    let prompts: Vec<_> = words.split(' ').map(of).collect();
    prompt_boundaries(&prompts).into_iter().collect()
}

#[test]
fn a_prompt_begins_in_the_state_saved_for_it_and_ends_in_its_last() {
    for (words, expected) in [
        ("- - -", vec![]),
        ("a1 a1! a1! a1!", vec![0, 3]),
        // Nothing had changed when it began, so the state before it is the one.
        ("- a1! a1! a2! a2! -", vec![0, 2, 4]),
        ("a1!", vec![0]),
        // Two conversations at once.
        ("a1 a1! b1 a1! b1! a1! b1!", vec![0, 2, 5, 6]),
        ("a1! b1! a1! b1!", vec![0, 2, 3]),
    ] {
        assert_eq!(boundaries(words), expected, "{words}");
    }
}

#[test]
fn without_a_session_or_a_turn_there_is_no_prompt() {
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(OfPrompt::of(Facts::of(None, text("s"), None, None)), None);
    assert_eq!(OfPrompt::of(Facts::of(None, None, text("1"), None)), None);
}
