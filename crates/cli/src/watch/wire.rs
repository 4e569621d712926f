//! What is said between a save and the watcher.
//!
//! A message is its length and so many bytes. A request begins with the version of the program: a watcher of
//! another version answers that it does not know, and ends. Nothing that comes in is believed further than its
//! bounds go; what does not fit is no message.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use herma_core::watch::Answer;
use herma_core::watch::Doubt;
use herma_core::watch::Question;
use herma_core::watch::Token;

/// The longest request: two paths and some numbers.
pub(crate) const LONGEST_REQUEST: usize = 16 << 10;
/// The longest answer.
pub(crate) const LONGEST_ANSWER: usize = 1 << 20;
/// What is said changed so often.
const FORMAT: u8 = 1;

/// What somebody wants from the watcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// What changed?
    Changes(Asked),
    /// What do you watch?
    Status,
    /// End.
    Stop,
}

/// A question about a project, and from where it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) namespace: u64,
    pub(crate) root: PathBuf,
    pub(crate) place: (u64, u64),
    pub(crate) state: PathBuf,
    pub(crate) since: Option<(Token, u64)>,
}

impl Asked {
    /// The question as it is put to the watcher's model.
    pub(crate) fn question(&self) -> Question<'_> {
        Question {
            root: &self.root,
            place: self.place,
            state: &self.state,
            files: 0,
            since: self.since,
        }
    }
}

/// What the watcher answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// What changed.
    Changes(Answer),
    /// What is watched, as JSON.
    Status(Vec<u8>),
    /// It ends.
    Stopping,
}

const DOUBTS: [Doubt; 6] = [
    Doubt::NoAnswer,
    Doubt::NotYet,
    Doubt::Missed,
    Doubt::TooMany,
    Doubt::Unwatchable,
    Doubt::OtherWorld,
];

/// The version a request names.
fn version() -> &'static [u8] {
    env!("CARGO_PKG_VERSION").as_bytes()
}

/// A message with its length before it.
fn framed(body: &[u8]) -> Vec<u8> {
    let mut message = (body.len() as u32).to_le_bytes().to_vec();
    message.extend_from_slice(body);
    message
}

/// The first whole message in these bytes; `None` if it is not all there. An error if there cannot be one.
pub(crate) fn unframed(bytes: &[u8], longest: usize) -> Result<Option<&[u8]>, TooLong> {
    let Some(length) = bytes.first_chunk::<4>() else {
        return Ok(None);
    };
    let length = u32::from_le_bytes(*length) as usize;
    if length > longest {
        return Err(TooLong);
    }
    Ok(bytes.get(4..4 + length))
}

/// A message that is longer than any can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl Request {
    /// The message.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut body = vec![FORMAT, version().len() as u8];
        body.extend_from_slice(version());
        match self {
            Self::Changes(asked) => {
                body.push(1);
                for number in [asked.namespace, asked.place.0, asked.place.1] {
                    body.extend_from_slice(&number.to_le_bytes());
                }
                let (token, structure) = asked.since.unzip();
                push_token(&mut body, token);
                body.extend_from_slice(&structure.unwrap_or(0).to_le_bytes());
                push_bytes(&mut body, asked.root.as_os_str().as_bytes());
                push_bytes(&mut body, asked.state.as_os_str().as_bytes());
            }
            Self::Status => body.push(2),
            Self::Stop => body.push(3),
        }
        framed(&body)
    }

    /// Reads a message without its length. `Ok(None)`: it comes from another version. `Err`: it is none.
    pub(crate) fn decode(body: &[u8]) -> Result<Option<Self>, NoMessage> {
        let mut rest = Rest(body);
        let format = rest.byte()?;
        let length = rest.byte()?;
        let is_own = rest.take(usize::from(length))? == version() && format == FORMAT;
        let kind = rest.byte()?;
        // Whoever is of another version may still end this one.
        if !is_own && kind != 3 {
            return Ok(None);
        }
        let request = match kind {
            1 => {
                let namespace = rest.number()?;
                let place = (rest.number()?, rest.number()?);
                let token = rest.token()?;
                let structure = rest.number()?;
                let root = rest.path()?;
                let state = rest.path()?;
                Self::Changes(Asked {
                    namespace,
                    root,
                    place,
                    state,
                    since: token.map(|token| (token, structure)),
                })
            }
            2 => Self::Status,
            3 => Self::Stop,
            _ => return Err(NoMessage),
        };
        if rest.0.is_empty() || !is_own {
            Ok(Some(request))
        } else {
            Err(NoMessage)
        }
    }
}

impl Reply {
    /// The message.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        match self {
            Self::Changes(Answer::Unknown(doubt)) => {
                let number = DOUBTS.iter().position(|known| known == doubt);
                body.extend_from_slice(&[0, number.unwrap_or(0) as u8]);
            }
            Self::Changes(Answer::From(now)) => {
                body.push(1);
                push_token(&mut body, Some(*now));
            }
            Self::Changes(Answer::Since { now, dirty }) => {
                body.push(2);
                push_token(&mut body, Some(*now));
                for path in dirty {
                    push_bytes(&mut body, path);
                }
                let is_short = |path: &Vec<u8>| u16::try_from(path.len()).is_ok();
                if body.len() > LONGEST_ANSWER || !dirty.iter().all(is_short) {
                    return Self::Changes(Answer::From(*now)).encode();
                }
            }
            Self::Status(json) => {
                body.push(3);
                body.extend_from_slice(json);
            }
            Self::Stopping => body.push(4),
        }
        framed(&body)
    }

    /// Reads a message without its length.
    pub(crate) fn decode(body: &[u8]) -> Result<Self, NoMessage> {
        let mut rest = Rest(body);
        let reply = match rest.byte()? {
            0 => {
                let doubt = DOUBTS.get(usize::from(rest.byte()?));
                Self::Changes(Answer::Unknown(*doubt.ok_or(NoMessage)?))
            }
            1 => Self::Changes(Answer::From(rest.token()?.ok_or(NoMessage)?)),
            2 => {
                let now = rest.token()?.ok_or(NoMessage)?;
                let mut dirty = Vec::new();
                while !rest.0.is_empty() {
                    dirty.push(rest.bytes()?.to_vec());
                }
                Self::Changes(Answer::Since { now, dirty })
            }
            3 => Self::Status(std::mem::take(&mut rest.0).to_vec()),
            4 => Self::Stopping,
            _ => return Err(NoMessage),
        };
        if rest.0.is_empty() {
            Ok(reply)
        } else {
            Err(NoMessage)
        }
    }
}

fn push_token(body: &mut Vec<u8>, token: Option<Token>) {
    let (instance, sequence) = token.map_or((0, 0), |t| (t.instance, t.sequence));
    body.extend_from_slice(&instance.to_le_bytes());
    body.extend_from_slice(&sequence.to_le_bytes());
}

fn push_bytes(body: &mut Vec<u8>, bytes: &[u8]) {
    body.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
    body.extend_from_slice(bytes);
}

/// These bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoMessage;

/// What is left of a message.
struct Rest<'m>(&'m [u8]);

impl<'m> Rest<'m> {
    fn take(&mut self, length: usize) -> Result<&'m [u8], NoMessage> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(NoMessage)?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, NoMessage> {
        Ok(self.take(1)?[0])
    }

    fn number(&mut self) -> Result<u64, NoMessage> {
        let bytes = self.take(8)?.try_into().map_err(|_| NoMessage)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn token(&mut self) -> Result<Option<Token>, NoMessage> {
        let (instance, sequence) = (self.number()?, self.number()?);
        Ok((instance != 0).then_some(Token { instance, sequence }))
    }

    fn bytes(&mut self) -> Result<&'m [u8], NoMessage> {
        let length = self.take(2)?.try_into().map_err(|_| NoMessage)?;
        self.take(usize::from(u16::from_le_bytes(length)))
    }

    fn path(&mut self) -> Result<PathBuf, NoMessage> {
        let path = PathBuf::from(std::ffi::OsStr::from_bytes(self.bytes()?));
        if path.is_absolute() {
            Ok(path)
        } else {
            Err(NoMessage)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn token() -> impl Strategy<Value = Token> {
        (1..u64::MAX, any::<u64>()).prop_map(|(instance, sequence)| Token { instance, sequence })
    }

    fn answer() -> impl Strategy<Value = Answer> {
        prop_oneof![
            (0..DOUBTS.len()).prop_map(|n| Answer::Unknown(DOUBTS[n])),
            token().prop_map(Answer::From),
            (
                token(),
                prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20)
            )
                .prop_map(|(now, dirty)| Answer::Since { now, dirty }),
        ]
    }

    fn asked() -> impl Strategy<Value = Asked> {
        let since = prop::option::of((token(), any::<u64>()));
        let numbers = (any::<u64>(), any::<(u64, u64)>());
        (numbers, "/[a-z/]{0,30}", "/[a-z/]{0,30}", since).prop_map(
            |((namespace, place), root, state, since)| Asked {
                namespace,
                root: root.into(),
                place,
                state: state.into(),
                since,
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_said_is_understood(asked in asked(), answer in answer()) {
            let request = Request::Changes(asked);
            let bytes = request.encode();
            let body = unframed(&bytes, LONGEST_REQUEST).unwrap().unwrap();
            prop_assert_eq!(Request::decode(body), Ok(Some(request)));
            let reply = Reply::Changes(answer);
            let bytes = reply.encode();
            let body = unframed(&bytes, LONGEST_ANSWER).unwrap().unwrap();
            prop_assert_eq!(Reply::decode(body), Ok(reply));
        }

        #[test]
        fn nonsense_is_no_message_and_never_a_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            asked in asked(),
            at in any::<prop::sample::Index>(),
            flip in 1u8..,
        ) {
            let _ = unframed(&bytes, LONGEST_REQUEST);
            let _ = Request::decode(&bytes);
            let _ = Reply::decode(&bytes);
            let mut near = Request::Changes(asked).encode();
            let at = at.index(near.len());
            near[at] ^= flip;
            let _ = Request::decode(&near[4..]);
            let _ = Request::decode(&near[4..at.max(4)]);
        }
    }

    #[test]
    fn another_version_is_known_for_one_but_may_end_it() {
        let mut status = Request::Status.encode();
        status[6] ^= 1;
        assert_eq!(Request::decode(&status[4..]), Ok(None));
        let mut stop = Request::Stop.encode();
        stop[6] ^= 1;
        assert_eq!(Request::decode(&stop[4..]), Ok(Some(Request::Stop)));
    }

    #[test]
    fn an_answer_that_would_be_too_long_is_a_shorter_one() {
        let now = Token {
            instance: 7,
            sequence: 8,
        };
        let dirty = vec![vec![b'a'; 60_000]; 20];
        let bytes = Reply::Changes(Answer::Since { now, dirty }).encode();
        assert_eq!(
            Reply::decode(&bytes[4..]),
            Ok(Reply::Changes(Answer::From(now)))
        );
        assert_eq!(unframed(&[255; 8], LONGEST_ANSWER), Err(TooLong));
    }
}
