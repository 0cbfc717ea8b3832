//! Access control and limits on request bodies.

use super::answer::Refusal;
use super::endpoints::Interface;
use super::options::is_loopback;
use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, ORIGIN};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use subtle::ConstantTimeEq;

/// Maximum size of a request's body in bytes.
pub(super) const BODY_BYTES_MAX: usize = 4096;
/// Time that a client has to send its body.
const BODY_TIME: Duration = Duration::from_secs(10);

/// Refuses requests without the token or, if there is none, requests to other hosts and from web pages.
pub(super) async fn admit(State(interface): State<Arc<Interface>>, request: Request, next: Next) -> Response {
    let admitted = match interface.token() {
        Some(token) => check_token(request.headers(), token),
        None => check_host(&request, interface.hosts()).and_then(|()| check_origin(&request)),
    };
    match admitted {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

fn check_token(headers: &HeaderMap, token: &str) -> Result<(), Refusal> {
    let given = text_of(headers, AUTHORIZATION).unwrap_or_default();
    let (scheme, given) = given.split_once(' ').unwrap_or_default();
    // The comparison takes a time that reveals the length of the token at most.
    let is_known = scheme.eq_ignore_ascii_case("bearer") && bool::from(given.trim().as_bytes().ct_eq(token.as_bytes()));
    let words = "expected the header `Authorization: Bearer TOKEN` with the token that the program was started with";
    is_known.then_some(()).ok_or_else(|| Refusal::new(StatusCode::UNAUTHORIZED, words).and_close())
}

/// Refuses requests from web pages. A browser sends requests for any page, also to this host, but names the page's
/// origin.
fn check_origin(request: &Request) -> Result<(), Refusal> {
    let Some(origin) = request.headers().get(ORIGIN) else {
        return Ok(());
    };
    let host = host_of(request).unwrap_or_default();
    let is_same =
        origin.to_str().ok().and_then(|origin| origin.split_once("://")).is_some_and(|(_, from)| from == host);
    let words = "requests from web pages are refused unless there is a token";
    is_same.then_some(()).ok_or_else(|| Refusal::new(StatusCode::FORBIDDEN, words).and_close())
}

/// Checks the host that a request without a token is for. Another name than those of this host means that someone
/// else's DNS name points to it (DNS rebinding): a browser takes the page of that name and the interface for one
/// origin. `None` allows any host.
fn check_host(request: &Request, allowed: Option<&[String]>) -> Result<(), Refusal> {
    let (Some(allowed), Some(host)) = (allowed, host_of(request)) else {
        return Ok(());
    };
    let name = without_port(host);
    let is_ours = is_name_of_loopback(name) || allowed.iter().any(|known| known.eq_ignore_ascii_case(name));
    let words = "expected the header `Host` to be `localhost`, a loopback address or an allowed host";
    is_ours.then_some(()).ok_or_else(|| Refusal::new(StatusCode::FORBIDDEN, words).and_close())
}

/// Returns the host that a request is for. In HTTP/2, it is a part of the address.
fn host_of(request: &Request) -> Option<&str> {
    text_of(request.headers(), HOST).or_else(|| request.uri().authority().map(|authority| authority.as_str()))
}

fn without_port(host: &str) -> &str {
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    host.rsplit_once(':').filter(|(_, port)| is_port(port)).map_or(host, |(name, _)| name)
}

fn is_name_of_loopback(name: &str) -> bool {
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok_and(is_loopback)
}

fn text_of(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).map(|value| value.to_str().unwrap_or_default())
}

/// Reads the body, and refuses it if it is too large or too slow.
pub(super) async fn bound_body(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    if body.is_end_stream() {
        return next.run(Request::from_parts(parts, Body::empty())).await;
    }
    match read_body(body).await {
        Ok(bytes) => next.run(Request::from_parts(parts, bytes)).await,
        Err(refusal) => refusal.and_close().into_response(),
    }
}

async fn read_body(body: Body) -> Result<Body, Refusal> {
    let too_large =
        || Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, format!("expected a body of at most {BODY_BYTES_MAX} bytes"));
    if body.size_hint().lower() > BODY_BYTES_MAX as u64 {
        return Err(too_large());
    }
    match tokio::time::timeout(BODY_TIME, to_bytes(body, BODY_BYTES_MAX)).await {
        Ok(Ok(bytes)) => Ok(bytes.into()),
        // The other cause is a client that has disconnected, which receives no response.
        Ok(Err(_)) => Err(too_large()),
        Err(_) => Err(Refusal::new(
            StatusCode::REQUEST_TIMEOUT,
            format!("expected the whole body within {} s", BODY_TIME.as_secs()),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(all: &[(HeaderName, &str)]) -> HeaderMap {
        all.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap())).collect()
    }

    fn request(all: &[(HeaderName, &str)]) -> Request {
        let mut request = Request::new(Body::empty());
        *request.headers_mut() = headers(all);
        request
    }

    #[test]
    fn only_the_exact_token_is_accepted() {
        for (given, is_right) in [
            ("Bearer secret", true),
            ("bearer  secret", true),
            ("Bearer secre", false),
            ("Bearer", false),
            ("Basic secret", false),
        ] {
            assert_eq!(check_token(&headers(&[(AUTHORIZATION, given)]), "secret").is_ok(), is_right, "{given}");
        }
        assert!(check_token(&headers(&[]), "secret").is_err());
    }

    #[test]
    fn web_pages_of_other_hosts_are_refused() {
        let from = |origin| check_origin(&request(&[(ORIGIN, origin), (HOST, "localhost:9123")])).is_ok();
        assert!(from("http://localhost:9123"));
        assert!(!from("http://example.com") && !from("null") && !from("http://localhost:80"));
    }

    #[test]
    fn only_loopback_and_allowed_names_are_accepted_as_host() {
        let allowed = ["Engine.internal".to_owned()];
        for (host, is_ours) in [
            ("localhost:9123", true),
            ("LOCALHOST", true),
            ("127.0.0.1:80", true),
            ("[::1]:80", true),
            ("engine.internal:8000", true),
            ("example.com:9123", false),
            ("127.0.0.1.example.com", false),
            ("engine.internal.example.com", false),
            ("10.0.0.1", false),
            ("", false),
        ] {
            assert_eq!(check_host(&request(&[(HOST, host)]), Some(&allowed)).is_ok(), is_ours, "{host}");
        }
        assert!(check_host(&request(&[(HOST, "example.com")]), None).is_ok());
    }

    #[test]
    fn the_host_of_http_2_is_checked_too() {
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = "http://example.com/status".parse().unwrap();
        assert!(check_host(&request, Some(&[])).is_err());
        *request.uri_mut() = "http://localhost:80/status".parse().unwrap();
        assert!(check_host(&request, Some(&[])).is_ok());
    }
}
