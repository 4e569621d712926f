//! What a client can read by its address, and hear of when it changes.
//!
//! `herma://checkpoints/home/you/shop` is the list of the checkpoints of the project in `/home/you/shop`. Its
//! content is what a tool answers, so there is nothing here but addresses, and who wants to hear of which.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use herma_fs::sync::Mutex;
use serde_json::{Value, json};

use super::message;
use super::message::RpcError;
use super::outbox::Outbox;
use super::session::absolute;

/// So much one client may want to hear of.
const MAX_SUBSCRIPTIONS: usize = 64;
/// So many bytes an address has: a path, and each of its bytes as `%00` at worst.
const MAX_URI_BYTES: usize = 3 * 4096 + 64;
const SCHEME: &str = "herma://";
/// Under this name a notification says which request it belongs to.
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// A kind of resource: its name in addresses, the tool that answers it, and what people call it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) tool: &'static str,
    title: &'static str,
}

pub(super) const KINDS: [Kind; 3] = [
    Kind { name: "checkpoints", tool: "herma_timeline", title: "The newest checkpoints" },
    Kind { name: "steps", tool: "herma_steps", title: "The newest steps of agents" },
    Kind {
        name: "status",
        tool: "herma_status",
        title: "What is saved, and what has changed since",
    },
];

/// A resource of a project.
pub(super) struct Resource {
    pub(super) kind: &'static Kind,
    pub(super) root: PathBuf,
}

impl Resource {
    /// What an address means.
    pub(super) fn parse(uri: &str) -> Result<Self, RpcError> {
        let read = || {
            let uri = (uri.len() <= MAX_URI_BYTES).then_some(uri)?;
            let (name, path) = uri.strip_prefix(SCHEME)?.split_once('/')?;
            let kind = KINDS.iter().find(|kind| kind.name == name)?;
            let path = decode(&format!("/{path}"))?;
            let root = absolute(Path::new(std::ffi::OsStr::from_bytes(&path))).ok()?;
            Some(Self { kind, root })
        };
        read().ok_or_else(|| RpcError::params("there is no such resource; resources/list has them"))
    }
}

/// The resources of a project, as `resources/list` has them.
pub(super) fn of_project(root: &Path) -> Vec<Value> {
    let path = encode(root.as_os_str().as_bytes());
    describe("uri", |kind| format!("{SCHEME}{}{path}", kind.name))
}

/// The resources of any project, as `resources/templates/list` has them.
pub(super) fn templates() -> Vec<Value> {
    describe("uriTemplate", |kind| format!("{SCHEME}{}{{+root}}", kind.name))
}

fn describe(address: &str, of: impl Fn(&Kind) -> String) -> Vec<Value> {
    let kinds = KINDS.iter().map(|kind| {
        json!({"name": kind.name, "title": kind.title, "mimeType": "application/json", address: of(kind)})
    });
    kinds.collect()
}

fn encode(path: &[u8]) -> String {
    let encoded = path.iter().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
            char::from(*byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    });
    encoded.collect()
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let digits = piece.get(..2)?;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        bytes.push(u8::from_str_radix(digits, 16).ok().filter(|_| is_hex)?);
        bytes.extend_from_slice(&piece.as_bytes()[2..]);
    }
    Some(bytes)
}

/// Somebody who wants to hear of a resource.
pub(super) struct Subscription {
    pub(super) client: u64,
    /// As the client wrote it.
    pub(super) uri: String,
    /// The request this belongs to, where it is one that stays open.
    pub(super) listen: Option<Value>,
    pub(super) resource: Resource,
    pub(super) outbox: Arc<Outbox>,
}

/// Everybody who wants to hear of something.
#[derive(Default)]
pub(crate) struct Hub(Mutex<Vec<Subscription>>);

impl Hub {
    fn with<T>(&self, by: impl FnOnce(&mut Vec<Subscription>) -> T) -> T {
        by(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a subscription, in the place of the same one.
    pub(super) fn subscribe(&self, new: Subscription) -> Result<(), RpcError> {
        self.with(|all| {
            let is_same = |one: &Subscription| (&one.uri, &one.listen) == (&new.uri, &new.listen);
            all.retain(|one| one.client != new.client || !is_same(one));
            if all.iter().filter(|one| one.client == new.client).count() >= MAX_SUBSCRIPTIONS {
                let message = format!("a client has at most {MAX_SUBSCRIPTIONS} subscriptions");
                return Err(RpcError::new(message::TOO_MANY, message));
            }
            all.push(new);
            Ok(())
        })
    }

    /// Ends those subscriptions of a client of which this is so.
    pub(super) fn end(&self, client: u64, is_meant: impl Fn(&Subscription) -> bool) {
        self.with(|all| all.retain(|one| one.client != client || !is_meant(one)));
    }

    /// Tells everybody who wants to hear of it that resources of these kinds have changed, of one project or of all.
    pub(super) fn publish(&self, kinds: &[&str], root: Option<&Path>) {
        self.with(|all| {
            let is_meant = |one: &&Subscription| {
                kinds.contains(&one.resource.kind.name)
                    && root.is_none_or(|root| root == one.resource.root)
            };
            for one in all.iter().filter(is_meant) {
                let mut params = json!({"uri": one.uri});
                if let Some(id) = &one.listen {
                    params["_meta"] = json!({SUBSCRIPTION_ID: id});
                }
                let about = params.to_string();
                let method = "notifications/resources/updated";
                one.outbox.notify(about, message::notification_line(method, &params));
            }
        });
    }
}

/// Says which resources a request that stays open hears of. This comes before all they say.
pub(super) fn acknowledge(outbox: &Outbox, id: &Value, uris: &[String]) {
    let params = json!({
        "_meta": {SUBSCRIPTION_ID: id},
        "notifications": {"resourceSubscriptions": uris},
    });
    let method = "notifications/subscriptions/acknowledged";
    // What waits goes out in the order of what it is about, and a space comes before everything else.
    let about = format!(" {id}");
    outbox.notify(about, message::notification_line(method, &params));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_path_has_an_address_and_nothing_else_has() {
        for path in [&b"/home/you"[..], b"/a b/%41", b"/\xff\n", b"/"] {
            let root = Path::new(std::ffi::OsStr::from_bytes(path));
            let listed = of_project(root);
            let uri = listed[0]["uri"].as_str().unwrap();
            assert!(uri.is_ascii() && !uri.contains(' '), "{uri}");
            assert_eq!(Resource::parse(uri).unwrap().root, root);
        }
        let long = format!("herma://steps/{}", "%41".repeat(5000));
        for uri in [
            "",
            "herma://",
            "herma://checkpoints",
            "herma://nothing/home",
            "file:///home",
            "herma://steps/%4",
            "herma://steps/%+1",
            "herma://steps/%00",
            "herma://steps/%é",
            &long,
        ] {
            assert!(Resource::parse(uri).is_err(), "{uri}");
        }
    }

    fn subscription(client: u64, uri: &str, outbox: &Arc<Outbox>) -> Subscription {
        Subscription {
            client,
            uri: uri.to_owned(),
            listen: None,
            resource: Resource::parse(uri).unwrap(),
            outbox: Arc::clone(outbox),
        }
    }

    #[test]
    fn only_what_was_asked_for_is_heard() {
        let (hub, outbox) = (Hub::default(), Arc::default());
        hub.subscribe(subscription(1, "herma://checkpoints/a", &outbox)).unwrap();
        hub.publish(&["steps"], Some(Path::new("/a")));
        hub.publish(&["checkpoints"], Some(Path::new("/b")));
        hub.end(2, |_| true);
        hub.publish(&["checkpoints"], Some(Path::new("/a")));
        hub.publish(&["checkpoints"], None);
        hub.end(1, |one| one.uri == "herma://checkpoints/a");
        hub.publish(&["checkpoints"], None);
        outbox.close();
        let mut heard = Vec::new();
        outbox.write_to(&mut heard);
        let heard: Value = serde_json::from_slice(&heard).expect("one line, however often");
        assert_eq!(heard["params"], json!({"uri": "herma://checkpoints/a"}));
    }

    #[test]
    fn what_is_heard_of_is_acknowledged_first() {
        let (hub, outbox) = (Hub::default(), Arc::default());
        let mut new = subscription(1, "herma://checkpoints/a", &outbox);
        new.listen = Some(json!("z"));
        hub.subscribe(new).unwrap();
        hub.publish(&["checkpoints"], None);
        acknowledge(&outbox, &json!("z"), &[]);
        outbox.close();
        let mut heard = Vec::new();
        outbox.write_to(&mut heard);
        let heard = String::from_utf8(heard).unwrap();
        assert_eq!(heard.lines().count(), 2);
        assert!(heard.lines().next().unwrap().contains("acknowledged"), "{heard}");
    }

    #[test]
    fn a_client_cannot_subscribe_without_end() {
        let (hub, outbox) = (Hub::default(), Arc::default());
        let subscribe = |number: usize| {
            let uri = format!("herma://steps/{number}");
            hub.subscribe(subscription(1, &uri, &outbox))
        };
        for number in 0..MAX_SUBSCRIPTIONS {
            subscribe(number).unwrap();
        }
        subscribe(0).expect("it has that one already");
        assert_eq!(subscribe(99).unwrap_err().code, message::TOO_MANY);
    }
}
