//! The connections of the server, of which there are few: an idle one is closed when its place is needed.

use crate::os::clock;
use crate::util::lock::lock;
use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use hyper::body::{Frame, SizeHint};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// Time that a new connection waits for the place of an idle one.
const CLOSE_TIME: Duration = Duration::from_secs(1);

/// All connections of a server.
pub(super) struct Connections {
    room: Arc<Semaphore>,
    all: Arc<Mutex<Vec<Arc<State>>>>,
}

/// One connection, which has its place until this is dropped.
pub(super) struct Connection {
    state: Arc<State>,
    all: Arc<Mutex<Vec<Arc<State>>>>,
    _permit: OwnedSemaphorePermit,
}

/// State of a connection.
struct State {
    /// Time since which the connection is idle; `None` while a request is served.
    idle_since: Mutex<Option<u64>>,
    close: Notify,
}

impl Connections {
    pub(super) fn new(n_max: usize) -> Self {
        Self { room: Arc::new(Semaphore::new(n_max)), all: Arc::default() }
    }

    /// Returns a place for a connection. If there is none, closes the connection that has been idle for longest.
    /// Returns `None` if all of them serve requests.
    pub(super) async fn add(&self) -> Option<Connection> {
        let permit = match Arc::clone(&self.room).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                self.longest_idle()?.close.notify_one();
                let room = Arc::clone(&self.room).acquire_owned();
                tokio::time::timeout(CLOSE_TIME, room).await.ok()?.ok()?
            }
        };
        let state = Arc::new(State { idle_since: Mutex::new(Some(clock::monotonic_nanos())), close: Notify::new() });
        lock(&self.all).push(Arc::clone(&state));
        Some(Connection { state, all: Arc::clone(&self.all), _permit: permit })
    }

    fn longest_idle(&self) -> Option<Arc<State>> {
        let all = lock(&self.all);
        let idle = all.iter().filter_map(|state| Some(((*lock(&state.idle_since))?, state)));
        idle.min_by_key(|(since, _)| *since).map(|(_, state)| Arc::clone(state))
    }
}

impl Connection {
    /// Makes an application count the requests of this connection, each until its response was sent.
    pub(super) fn count_requests(&self, app: Router) -> Router {
        let state = Arc::clone(&self.state);
        app.layer(from_fn(move |request: Request, next: Next| {
            let busy = Busy::new(&state);
            async move { next.run(request).await.map(|body| Body::new(CountedBody { body, _busy: busy })) }
        }))
    }

    /// Completes when the connection is to be closed, while it is idle.
    pub(super) async fn closed(&self) {
        loop {
            self.state.close.notified().await;
            if lock(&self.state.idle_since).is_some() {
                return;
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        lock(&self.all).retain(|state| !Arc::ptr_eq(state, &self.state));
    }
}

/// A request that is being served. The connection is idle when this is dropped.
struct Busy(Arc<State>);

impl Busy {
    fn new(state: &Arc<State>) -> Self {
        *lock(&state.idle_since) = None;
        Self(Arc::clone(state))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        *lock(&self.0.idle_since) = Some(clock::monotonic_nanos());
    }
}

/// The body of a response. It is dropped when its last byte was passed to the connection.
struct CountedBody {
    body: Body,
    _busy: Busy,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
