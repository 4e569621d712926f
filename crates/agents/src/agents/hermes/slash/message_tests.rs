use proptest::prelude::*;

use super::*;

const CHATS: [Platform; 3] = [Platform::Telegram, Platform::Discord, Platform::Slack];

fn sample(foreign: &str, lines: usize) -> Message {
    let mut message = Message::new();
    message.line([Span::Words("Restored ".to_owned()), Span::Foreign(foreign.to_owned())]);
    message.block(vec![foreign.to_owned(); lines], 0);
    message.say("Done.");
    message
}

/// The text with everything that is code taken out.
fn outside_code(text: &str, platform: Platform) -> String {
    if platform != Platform::Telegram {
        assert_eq!(text.matches("```").count() % 2, 0, "blocks are closed: {text}");
        let around = text.split("```").step_by(2);
        return around.flat_map(|part| part.split('`').step_by(2)).collect();
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        let is_block = rest[at..].starts_with("<pre>");
        let close = if is_block { "</pre>" } else { "</code>" };
        let end = rest[at..].find(close).expect("code is closed");
        let inner = &rest[at + close.len() - 1..at + end];
        assert!(!inner.contains(['<', '>']), "no markup within code: {inner}");
        rest = &rest[at + end + close.len()..];
    }
    out + rest
}

#[test]
fn each_platform_has_its_own_form() {
    let message = sample("a <b>", 1);
    let of = |platform| message.render(platform);
    assert_eq!(of(Platform::Cli), "  Restored a <b>\na <b>\n  Done.");
    assert_eq!(of(Platform::Plain), "Restored a <b>\na <b>\nDone.");
    assert_eq!(
        of(Platform::Telegram),
        "Restored <code>a &lt;b&gt;</code>\n<pre>a &lt;b&gt;</pre>\nDone."
    );
    assert_eq!(of(Platform::Discord), "Restored `a <b>`\n```\na <b>\n```\nDone.");
    assert_eq!(of(Platform::Slack), "Restored `a &lt;b&gt;`\n```\na &lt;b&gt;\n```\nDone.");
}

#[test]
fn names_that_ping_or_break_out_stay_names() {
    let hostile = [
        "``` @everyone ```",
        "`@here`",
        "```",
        "x`",
        "</pre><a href=\"tg://user?id=1\">x</a>",
        "</code>",
        "<!channel> <@U123> <https://evil.example|click>",
        "&lt;!here&gt;",
        "@EveryOne",
        "*bold* _it_ ~s~ [a](b) ||s||",
    ];
    for text in hostile {
        for platform in CHATS {
            let shown = sample(text, 2).render(platform);
            let outside = outside_code(&shown, platform);
            assert_eq!(outside.replace('\n', ""), "Restored Done.", "{shown}");
            if platform != Platform::Telegram {
                let lower = shown.to_lowercase();
                for word in ["@everyone", "@here", "@channel"] {
                    assert!(!lower.contains(word), "{shown}");
                }
            }
            if platform == Platform::Slack {
                assert!(!shown.contains(['<', '>']), "{shown}");
            }
        }
    }
}

#[test]
fn long_answers_are_cut_at_a_line_and_say_how_many_more_there_are() {
    for (platform, limit) in
        [(Platform::Telegram, 4096), (Platform::Discord, 2000), (Platform::Slack, 3000)]
    {
        let text = sample("a line of text", 1000).render(platform);
        let length = text.encode_utf16().count();
        assert!((limit - 100..=limit).contains(&length), "{length}");
        let shown = text.matches("\na line of text").count() + text.matches("<pre>a line").count();
        let said = format!("... ({} more lines, showing first {shown})", 1000 - shown);
        assert!(text.contains(&said), "{said}: {text}");
        assert!(text.ends_with("\nDone."), "what follows is not lost: {text}");
    }
}

#[test]
fn a_terminal_gets_everything() {
    let message = sample("x", 10_000);
    assert_eq!(message.render(Platform::Cli).lines().count(), 10_002);
}

#[test]
fn lengths_are_counted_as_the_platforms_do() {
    // Each is one character and two units.
    let text = sample(&"😀".repeat(300), 20).render(Platform::Telegram);
    assert!(text.encode_utf16().count() <= 4096);
    assert!(text.contains("more line"), "{text}");
}

#[test]
fn many_names_are_cut_shorter_before_an_answer_is_lost() {
    let mut message = Message::new();
    for _ in 0..4 {
        message.line(vec![Span::Foreign("n".repeat(200)); 8]);
    }
    for platform in CHATS {
        let text = message.render(platform);
        assert_eq!(text.matches('…').count(), 32, "{text}");
    }
}

#[test]
fn what_cannot_be_cut_is_replaced_by_a_notice() {
    let mut message = Message::new();
    message.note(vec!["x".repeat(300); 100]);
    for platform in CHATS {
        assert_eq!(message.render(platform).lines().count(), 1, "no half of a block is shown");
    }
}

proptest! {
    #[test]
    fn no_text_breaks_out_or_is_too_long(
        text in "[a-z<>&`@ \\*_|/!é😀]{0,300}|```.{0,20}|.{0,600}",
        lines in 0usize..80,
    ) {
        let text: String = text.chars().filter(|c| !c.is_control() && *c != APART).collect();
        for platform in CHATS {
            let shown = sample(&text, lines).render(platform);
            prop_assert!(shown.encode_utf16().count() <= platform.limit().unwrap());
            let outside = outside_code(&shown, platform);
            let outside = outside.replace('\n', "");
            prop_assert!(outside.starts_with("Restored ") && outside.ends_with("Done."), "{}", shown);
        }
    }
}

#[test]
fn an_address_that_calls_nobody_is_as_it_was() {
    let (mail, call) = ("me@example.org", "@everyone");
    for platform in [Platform::Discord, Platform::Slack] {
        assert_eq!(platform.spelled(mail), mail);
        assert_ne!(platform.spelled(call), call);
    }
    assert_eq!(Platform::Plain.spelled(call), call);
}
