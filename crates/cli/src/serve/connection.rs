//! The conversation with one client: a line comes, what it asks for is done, the answer goes out.
//!
//! `herma serve` and `herma mcp` share it. Requests of one client are carried out one after the other, in the
//! order they come in; whoever wants more at once opens more connections. No line ends a conversation: what
//! makes no sense is answered with what is wrong with it.

use std::io::Read;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use serde_json::Value;

use super::lines::LONGEST_LINE;
use super::lines::Line;
use super::lines::Lines;
use super::message;
use super::message::Incoming;
use super::message::Request;
use super::message::RpcError;
use super::outbox::Outbox;
use super::stopping::Stopping;

/// What came of a request.
#[derive(Debug)]
pub(crate) enum Reply {
    /// It was done, or not.
    Answer(Result<Value, RpcError>),
    /// It was done, and the client wants nothing more.
    Last(Value),
}

/// Does what one client asks for.
pub(crate) trait Handler {
    /// Carries out a request.
    fn call(&mut self, request: &Request<'_>) -> Reply;
}

/// Answers a client until it has no more to say, or the server stops.
pub(crate) fn converse(
    input: impl Read,
    outbox: &Outbox,
    handler: &mut dyn Handler,
    stopping: &Stopping,
) {
    let mut lines = Lines::new(input);
    loop {
        let line = match lines.next() {
            Ok(Line::Whole(line)) if line.trim_ascii().is_empty() => continue,
            Ok(Line::Whole(line)) => line,
            Ok(Line::TooLong) => {
                let message = format!("a request has at most {LONGEST_LINE} bytes");
                let error = RpcError::new(message::INVALID_REQUEST, message);
                outbox.answer(message::error_line(&Value::Null, &error));
                continue;
            }
            // A connection that broke is over like one that was closed.
            Ok(Line::End) | Err(_) => return,
        };
        // Whoever stops waits for this to be let go, so what has begun is finished and answered.
        let Some(running) = stopping.begin() else {
            return;
        };
        let (answer, goes_on) = match message::parse(line) {
            Incoming::Answer => (None, true),
            Incoming::Bad { id, error } => (Some(message::error_line(&id, &error)), true),
            Incoming::Request(request) => carry_out(&request, handler),
        };
        running.answers();
        if let Some(answer) = answer {
            outbox.answer(answer);
        }
        if !goes_on {
            return;
        }
    }
}

/// Does what a request asks for. Returns the line that answers it, and whether the conversation goes on.
fn carry_out(request: &Request<'_>, handler: &mut dyn Handler) -> (Option<Vec<u8>>, bool) {
    // A mistake of ours in one request must not take the others along.
    let reply = catch_unwind(AssertUnwindSafe(|| handler.call(request)));
    let reply = reply.unwrap_or_else(|_| {
        let message =
            "this is a mistake in herma; the request may be half done, nothing saved is lost";
        Reply::Answer(Err(RpcError::new(message::INTERNAL_ERROR, message)))
    });
    let (answer, goes_on) = match reply {
        Reply::Answer(answer) => (answer, true),
        Reply::Last(value) => (Ok(value), false),
    };
    let line = request.id.as_ref().map(|id| match answer {
        Ok(result) => message::result_line(id, &result),
        Err(error) => message::error_line(id, &error),
    });
    (line, goes_on)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Echo;

    impl Handler for Echo {
        fn call(&mut self, request: &Request<'_>) -> Reply {
            match request.method.as_str() {
                "end" => Reply::Last(Value::Null),
                "mistake" => panic!("a mistake in a test"),
                method => Reply::Answer(Ok(json!(method))),
            }
        }
    }

    fn answers(input: &[u8]) -> Vec<Value> {
        let outbox = Outbox::default();
        let mut written = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| outbox.write_to(&mut written));
            converse(input, &outbox, &mut Echo, &Stopping::default());
            outbox.close();
        });
        let lines = written.split(|byte| *byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty());
        lines
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    #[test]
    fn nonsense_is_answered_and_the_conversation_goes_on() {
        let input = b"nonsense\n\n[]\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\"}\n";
        let answers = answers(input);
        assert_eq!(answers[0]["error"]["code"], message::PARSE_ERROR);
        assert_eq!(answers[1]["error"]["code"], message::INVALID_REQUEST);
        assert_eq!(
            answers[2],
            json!({"jsonrpc": "2.0", "id": 1, "result": "hello"})
        );
        assert_eq!(answers.len(), 3);
    }

    #[test]
    fn a_mistake_costs_one_request() {
        let input = concat!(
            r#"{"jsonrpc":"2.0","id":1,"method":"mistake"}"#,
            "\n",
            r#"{"jsonrpc":"2.0","id":2,"method":"hello"}"#,
        );
        let answers = answers(input.as_bytes());
        assert_eq!(answers[0]["error"]["code"], message::INTERNAL_ERROR);
        assert_eq!(answers[1]["result"], "hello");
    }

    #[test]
    fn notifications_and_answers_are_not_answered() {
        let input = concat!(
            r#"{"jsonrpc":"2.0","method":"hello"}"#,
            "\n",
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            "\n",
            r#"{"jsonrpc":"2.0","id":2,"method":"end"}"#,
            "\n",
            r#"{"jsonrpc":"2.0","id":3,"method":"hello"}"#,
        );
        assert_eq!(
            answers(input.as_bytes()),
            [json!({"jsonrpc": "2.0", "id": 2, "result": null})]
        );
    }
}
