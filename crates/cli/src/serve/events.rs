//! Who wants to hear of what: subscriptions, and the events that are sent to them.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use herma_core::engine::Progress;
use herma_core::engine::Stage;
use herma_fs::sync::Mutex;
use herma_fs::sync::MutexGuard;
use herma_fs::sync::atomic::AtomicUsize;
use serde::Deserialize;
use serde_json::Value;
use serde_json::json;

use super::message;
use super::message::RpcError;
use super::outbox::Outbox;

/// So many subscriptions one client may have.
const MOST_PER_CLIENT: usize = 16;
/// The shortest time between two reports about the same stage of a request.
const PAUSE: Duration = Duration::from_millis(100);

/// What one can hear of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Topic {
    /// How far a request is.
    Progress,
    /// A checkpoint was made.
    Checkpoint,
    /// Files were put back.
    Restore,
    /// A step began or ended.
    Step,
}

impl Topic {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Progress, Self::Checkpoint, Self::Restore, Self::Step];

    /// The word of the protocol.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Progress => "progress",
            Self::Checkpoint => "checkpoint",
            Self::Restore => "restore",
            Self::Step => "step",
        }
    }
}

/// Everybody who wants to hear of something.
#[derive(Default)]
pub(crate) struct Hub {
    subscriptions: Mutex<BTreeMap<u64, Subscription>>,
    /// How many want to hear how far requests are: asked for every file, so it must cost nothing.
    watchers: AtomicUsize,
    /// The number of the last subscription; no other one ever gets it.
    last: AtomicU64,
}

struct Subscription {
    client: u64,
    outbox: Arc<Outbox>,
    topics: BTreeSet<Topic>,
    /// Only of this project.
    root: Option<PathBuf>,
}

impl Hub {
    fn subscriptions(&self) -> MutexGuard<'_, BTreeMap<u64, Subscription>> {
        self.subscriptions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn count_watchers(&self, subscriptions: &BTreeMap<u64, Subscription>) {
        let watches = |one: &&Subscription| one.topics.contains(&Topic::Progress);
        let count = subscriptions.values().filter(watches).count();
        self.watchers.store(count, Ordering::Relaxed);
    }

    /// Adds a subscription, and returns its number.
    pub(crate) fn subscribe(
        &self,
        client: u64,
        outbox: &Arc<Outbox>,
        topics: BTreeSet<Topic>,
        root: Option<PathBuf>,
    ) -> Result<u64, RpcError> {
        let mut subscriptions = self.subscriptions();
        let own = subscriptions.values().filter(|one| one.client == client);
        if own.count() >= MOST_PER_CLIENT {
            let message = format!("a client has at most {MOST_PER_CLIENT} subscriptions");
            return Err(RpcError::new(message::TOO_MANY, message));
        }
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        subscriptions.insert(
            number,
            Subscription {
                client,
                outbox: Arc::clone(outbox),
                topics,
                root,
            },
        );
        self.count_watchers(&subscriptions);
        Ok(number)
    }

    /// Ends a subscription of a client; says whether there was one.
    pub(crate) fn unsubscribe(&self, client: u64, number: u64) -> bool {
        let mut subscriptions = self.subscriptions();
        let is_own = subscriptions
            .get(&number)
            .is_some_and(|one| one.client == client);
        if is_own {
            subscriptions.remove(&number);
            self.count_watchers(&subscriptions);
        }
        is_own
    }

    /// Ends all subscriptions of a client.
    pub(crate) fn forget(&self, client: u64) {
        let mut subscriptions = self.subscriptions();
        subscriptions.retain(|_, one| one.client != client);
        self.count_watchers(&subscriptions);
    }

    /// Does anybody want to hear how far requests are?
    pub(super) fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::Relaxed) > 0
    }

    /// Tells everybody who wants to hear of it. A client that cannot keep up hears only that.
    pub(crate) fn publish(&self, topic: Topic, root: &Path, body: &Value) {
        let mut subscriptions = self.subscriptions();
        let mut slow = BTreeSet::new();
        for (number, one) in &*subscriptions {
            let is_meant = one.topics.contains(&topic)
                && one.root.as_deref().is_none_or(|wanted| wanted == root)
                && !slow.contains(&one.client);
            if !is_meant {
                continue;
            }
            let mut params = body.clone();
            params["subscription"] = (*number).into();
            params["event"] = topic.word().into();
            let line = message::notification_line("event", &params);
            if one.outbox.notify(line).is_err() {
                slow.insert(one.client);
                let params = json!({"event": "ended", "subscription": number, "why": "this client reads too slowly; what it had not read was dropped, and its subscriptions have ended"});
                // It has room for one line: it was just emptied.
                let _ = one
                    .outbox
                    .notify(message::notification_line("event", &params));
            }
        }
        if !slow.is_empty() {
            subscriptions.retain(|_, one| !slow.contains(&one.client));
            self.count_watchers(&subscriptions);
        }
    }
}

/// Tells how far one request is.
pub(crate) struct RequestProgress {
    hub: Arc<Hub>,
    client: u64,
    request: Value,
    method: String,
    root: PathBuf,
    state: Mutex<(Option<Stage>, Instant)>,
}

impl RequestProgress {
    /// For the request with this id of this client, about the project at `root`.
    pub(crate) fn new(
        hub: &Arc<Hub>,
        client: u64,
        request: &message::Request<'_>,
        root: &Path,
    ) -> Self {
        Self {
            hub: Arc::clone(hub),
            client,
            request: request.id.clone().unwrap_or_default(),
            method: request.method.clone(),
            root: root.to_owned(),
            state: Mutex::new((None, Instant::now())),
        }
    }

    fn tell(&self, stage: Option<Stage>, done: u64, total: Option<u64>) {
        let body = json!({
            "client": self.client,
            "request": self.request,
            "method": self.method,
            "root": self.root.to_string_lossy(),
            "stage": stage.map(Stage::word),
            "done": done,
            "total": total,
        });
        self.hub.publish(Topic::Progress, &self.root, &body);
    }
}

impl Progress for RequestProgress {
    fn stage(&self, stage: Stage) {
        if let Ok(mut state) = self.state.lock() {
            *state = (Some(stage), Instant::now());
        }
        if self.hub.is_watched() {
            self.tell(Some(stage), 0, None);
        }
    }

    fn files(&self, done: u64, total: Option<u64>) {
        if !self.hub.is_watched() {
            return;
        }
        // Workers that meet here do not wait for each other: one of them tells.
        let Ok(mut state) = self.state.try_lock() else {
            return;
        };
        if state.1.elapsed() >= PAUSE {
            state.1 = Instant::now();
            let now_at = state.0;
            drop(state);
            self.tell(now_at, done, total);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(outbox: &Outbox) -> Vec<Value> {
        outbox.close();
        let mut bytes = Vec::new();
        outbox.write_to(&mut bytes);
        let lines = bytes.split(|byte| *byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty());
        lines
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    #[test]
    fn only_what_was_asked_for_is_heard() {
        let (hub, outbox) = (Hub::default(), Arc::default());
        let topics = BTreeSet::from([Topic::Checkpoint]);
        let number = hub
            .subscribe(1, &outbox, topics, Some("/a".into()))
            .unwrap();
        hub.publish(Topic::Step, Path::new("/a"), &json!({}));
        hub.publish(Topic::Checkpoint, Path::new("/b"), &json!({}));
        hub.publish(Topic::Checkpoint, Path::new("/a"), &json!({"x": 1}));
        assert!(!hub.unsubscribe(2, number), "it is another client's");
        assert!(hub.unsubscribe(1, number));
        hub.publish(Topic::Checkpoint, Path::new("/a"), &json!({}));
        let heard = written(&outbox);
        assert_eq!(heard.len(), 1);
        assert_eq!(
            heard[0]["params"],
            json!({"x": 1, "subscription": number, "event": "checkpoint"})
        );
    }

    #[test]
    fn who_cannot_keep_up_is_told_and_dropped_and_nobody_else() {
        let hub = Hub::default();
        let (slow, quick) = (Arc::default(), Arc::default());
        let topics = BTreeSet::from(Topic::ALL);
        hub.subscribe(1, &slow, topics.clone(), None).unwrap();
        for _ in 0..256 {
            hub.publish(Topic::Step, Path::new("/"), &json!({}));
        }
        hub.subscribe(2, &quick, topics, None).unwrap();
        hub.publish(Topic::Step, Path::new("/"), &json!({}));
        hub.publish(Topic::Step, Path::new("/"), &json!({}));
        let heard = written(&slow);
        assert_eq!(heard.len(), 1, "{heard:?}");
        assert_eq!(heard[0]["params"]["event"], "ended");
        assert!(heard[0]["params"]["subscription"].is_u64(), "{heard:?}");
        assert_eq!(written(&quick).len(), 2);
        assert!(hub.is_watched(), "the second client still listens");
        hub.forget(2);
        assert!(!hub.is_watched());
    }

    #[test]
    fn a_client_cannot_subscribe_without_end() {
        let (hub, outbox) = (Hub::default(), Arc::default());
        let subscribe = || hub.subscribe(1, &outbox, BTreeSet::new(), None);
        for _ in 0..MOST_PER_CLIENT {
            subscribe().unwrap();
        }
        assert_eq!(subscribe().unwrap_err().code, message::TOO_MANY);
    }
}
