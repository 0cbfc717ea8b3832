//! The HTTP interface: starts, stops and inspects recordings from outside the process.

mod answer;
mod connections;
mod endpoints;
mod files;
mod folder;
mod gate;
mod options;
mod rate;
mod serve;
mod start_request;
#[cfg(unix)]
mod unix_socket;

pub use options::{Address, HttpOptions};
pub use serve::Server;

pub(crate) use serve::{serve, serve_from_environment};

use answer::Refusal;
use axum::Router;
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};
use endpoints::Interface;
use std::sync::Arc;

/// Returns the interface as a router, for a server that web pages may reach.
pub(crate) fn router(options: HttpOptions) -> Router {
    router_of(Interface::new(options, false))
}

fn router_of(interface: Interface) -> Router {
    let interface = Arc::new(interface);
    Router::new()
        .route("/", get(endpoints::list))
        .route("/start_profile", post(endpoints::start))
        .route("/stop_profile", post(endpoints::stop))
        .route("/flush", post(endpoints::flush))
        .route("/pause", post(endpoints::pause))
        .route("/resume", post(endpoints::resume))
        .route("/categories", post(endpoints::categories))
        .route("/dump", post(endpoints::dump))
        .route("/status", get(endpoints::status))
        .route("/trace", get(endpoints::trace))
        .method_not_allowed_fallback(wrong_method)
        .fallback(unknown_path)
        .layer(from_fn(gate::bound_body))
        .layer(from_fn_with_state(Arc::clone(&interface), gate::admit))
        .with_state(interface)
}

async fn wrong_method() -> Refusal {
    Refusal::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "expected POST for actions and GET for queries; `GET /` lists the paths",
    )
}

async fn unknown_path() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "unknown path; `GET /` lists the paths")
}
