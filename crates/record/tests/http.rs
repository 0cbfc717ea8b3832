//! The HTTP interface, over real sockets.
#![cfg(feature = "http")]

use ferrum_trace::control::{self, State};
use ferrum_trace::http::{self, Address, HttpOptions, Server};
use ferrum_trace::llm::{self, Phase, Step};
use ferrum_trace::{counter, span};
use ferrum_trace_testkit::process::{Running, TIMEOUT};
use ferrum_trace_testkit::trace_file::TraceFile;
use serde_json::Value;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The recording belongs to the process, so the tests of this file run one at a time.
static TURN: Mutex<()> = Mutex::new(());

/// A server with its own empty directory, while nothing is recorded.
struct Scene {
    folder: PathBuf,
    server: Option<Server>,
    address: SocketAddr,
    _turn: MutexGuard<'static, ()>,
}

impl Scene {
    fn new(name: &str) -> Self {
        Self::with(name, |options| options)
    }

    fn with(name: &str, change: impl FnOnce(HttpOptions) -> HttpOptions) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = folder(name);
        let options = HttpOptions::new(&folder).address("127.0.0.1:0".parse().unwrap());
        let server = http::serve(change(options)).unwrap();
        let Address::Tcp(address) = *server.address() else { panic!("expected a TCP address") };
        Self { folder, server: Some(server), address, _turn: turn }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream
    }

    /// Sends raw bytes, and reads the response until the server closes the connection.
    fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        // The server may refuse before all bytes are sent.
        let _ = stream.write_all(bytes);
        Answer::read(&mut stream)
    }

    fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        self.raw(request(method, path, body).as_bytes())
    }

    fn post(&self, path: &str) -> Answer {
        self.send("POST", path, "")
    }

    fn get(&self, path: &str) -> Answer {
        self.send("GET", path, "")
    }

    /// Returns the names of the files in the directory.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.folder).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
        }
        let _ = ferrum_trace::finish();
        control::set_categories("".parse().unwrap());
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("http").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder.canonicalize().unwrap()
}

fn request(method: &str, path: &str, body: &str) -> String {
    let n_bytes = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {n_bytes}\r\n\r\n{body}"
    )
}

#[derive(Debug)]
struct Answer {
    /// 0 if the connection was closed without a response.
    code: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn read(stream: &mut impl Read) -> Self {
        let mut bytes = Vec::new();
        match stream.read_to_end(&mut bytes) {
            Ok(_) => {}
            // Bytes received before the reset are kept.
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "the server hangs"),
        }
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").map_or(bytes.len(), |at| at + 4);
        let body = bytes.split_off(end);
        let head = String::from_utf8(bytes).unwrap();
        let code = head.split(' ').nth(1).map_or(0, |code| code.parse().unwrap());
        Self { code, head, body }
    }

    #[track_caller]
    fn json(&self) -> Value {
        let value = serde_json::from_slice(&self.body);
        value.unwrap_or_else(|_| panic!("{}{}", self.head, String::from_utf8_lossy(&self.body)))
    }

    #[track_caller]
    fn expect(&self, code: u16) -> Value {
        assert_eq!(self.code, code, "{}{}", self.head, String::from_utf8_lossy(&self.body));
        self.json()
    }

    /// Asserts an error with this status code whose message contains `word`.
    #[track_caller]
    fn refused(&self, code: u16, word: &str) {
        let value = self.expect(code);
        let error = value["error"].as_str().unwrap();
        assert!(error.contains(word), "expected `{word}` in: {error}");
    }

    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

fn step() {
    drop(llm::step(Step { phase: Phase::Decode, batch: 1, prefill_tokens: 0, decode_tokens: 1, context_tokens: 9 }));
}

/// Waits until `holds` returns true; panics if it takes too long.
#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..24_000 {
        if holds() {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("{what}: {:?}", control::status());
}

#[test]
fn a_recording_is_started_stopped_and_downloaded() {
    let scene = Scene::new("whole");
    scene.get("/trace").refused(404, "complete");
    scene.post("/stop_profile").refused(409, "start_profile");
    drop(span!("before"));
    let started = scene.post("/start_profile").expect(200);
    assert_eq!(started["status"]["state"], "recording");
    assert_eq!(started["path"], scene.folder.join("trace-001.json").to_str().unwrap());
    (0..1000u64).for_each(|i| drop(span!("work", "test", i)));
    scene.post("/start_profile").refused(409, "trace-001.json");
    scene.get("/trace").refused(404, "complete");
    let stopped = scene.post("/stop_profile").expect(200);
    assert_eq!((&stopped["recorded"], &stopped["dropped"]), (&1000.into(), &0.into()));
    assert_eq!(scene.names(), ["trace-001.json"]);
    let trace = scene.get("/trace");
    assert_eq!(trace.code, 200);
    assert_eq!(trace.body, std::fs::read(scene.folder.join("trace-001.json")).unwrap());
    assert_eq!(trace.header("content-length").unwrap(), trace.body.len().to_string());
    assert_eq!(trace.header("content-type"), Some("application/json"));
    assert_eq!(trace.header("content-disposition"), Some("attachment; filename=\"trace-001.json\""));
    let file = TraceFile::read(&scene.folder.join("trace-001.json"));
    assert_eq!((file.count("work"), file.count("before")), (1000, 0));
    assert_eq!(scene.get("/status").expect(200)["state"], "off");
}

#[test]
fn files_are_numbered_and_only_those_made_here_can_be_read() {
    let scene = Scene::new("numbered");
    std::fs::write(scene.folder.join("other.json"), "[]").unwrap();
    std::fs::write(scene.folder.join("run-001.json"), "[]").unwrap();
    for name in ["run-002.json", "run-003.json"] {
        let started = scene.send("POST", "/start_profile", r#"{"name": "run", "activities": ["CPU", "GPU"]}"#);
        let started = started.expect(200);
        assert_eq!(started["name"], name);
        assert!(started["notes"][0].as_str().unwrap().contains("activities"));
        drop(span!("work"));
        scene.post("/stop_profile?wait=1").expect(200);
    }
    assert_eq!(scene.get("/trace?name=run-002.json").code, 200);
    assert!(scene.get("/trace").header("content-disposition").unwrap().contains("run-003.json"));
    for name in ["run-001.json", "other.json", "../numbered/run-002.json", "%2e%2e%2fx", "run-002.json%00", ""] {
        scene.get(&format!("/trace?name={name}")).refused(404, "made here");
    }
    // A link in the place of a file is not followed.
    let path = scene.folder.join("run-003.json");
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(scene.folder.join("other.json"), &path).unwrap();
    scene.get("/trace?name=run-003.json").refused(404, "made here");
}

#[test]
fn a_stop_without_wait_is_answered_at_once() {
    let scene = Scene::new("at-once");
    scene.post("/start_profile").expect(200);
    (0..20_000u64).for_each(|i| drop(span!("work", "test", i)));
    scene.post("/stop_profile?wait=perhaps").refused(400, "perhaps");
    let stopping = scene.post("/stop_profile?wait=0").expect(202);
    assert_eq!(stopping["name"], "trace-001.json");
    until("the file is complete", || scene.get("/status").expect(200)["writing"] == 0);
    assert_eq!(scene.get("/trace").code, 200);
    assert_eq!(TraceFile::read(&scene.folder.join("trace-001.json")).count("work"), 20_000);
}

#[test]
fn steps_are_counted_and_the_recording_ends_by_itself() {
    let scene = Scene::new("steps");
    let body = r#"{"start_step": 2, "num_steps": 3, "with_stack": null, "output_dir": null}"#;
    assert_eq!(scene.send("POST", "/start_profile", body).expect(200)["status"]["state"], "outside window");
    (0..10).for_each(|_| step());
    until("the window ends it", || control::status().state == State::Off && control::status().writing == 0);
    assert_eq!(scene.get("/trace").code, 200);
    assert_eq!(TraceFile::read(&scene.folder.join("trace-001.json")).count("decode"), 3);
}

#[test]
fn pausing_categories_and_flushing() {
    let scene = Scene::new("pausing");
    for path in ["/pause", "/resume", "/flush", "/dump", "/categories?categories=a"] {
        scene.post(path).refused(409, if path.starts_with("/categories") { "not recording" } else { "nothing" });
    }
    scene.post("/start_profile").expect(200);
    scene.post("/dump").refused(409, "flight recorder");
    drop(span!("kept", "kept"));
    assert_eq!(scene.post("/pause").expect(200)["state"], "paused");
    drop(span!("meanwhile", "kept"));
    let resumed = scene.send("POST", "/start_profile", r#"{"name": "other"}"#).expect(200);
    assert_eq!((&resumed["resumed"], &resumed["name"]), (&true.into(), &"trace-001.json".into()));
    assert!(resumed["notes"][0].as_str().unwrap().contains("paused"));
    scene.post("/pause").expect(200);
    assert_eq!(scene.post("/resume").expect(200)["state"], "recording");
    assert_eq!(scene.post("/categories?categories=-muted,-more").expect(200)["categories"], "-muted,-more");
    drop(span!("muted", "muted"));
    assert_eq!(scene.send("POST", "/categories", "-muted\n").expect(200)["categories"], "-muted");
    assert_eq!(scene.send("POST", "/categories", r#"{"categories": "kept"}"#).expect(200)["categories"], "kept");
    for (path, body) in [("/categories", ""), ("/categories", "a*b"), ("/categories?x=1", ""), ("/categories", "{}")] {
        scene.send("POST", path, body).refused(400, "expected");
    }
    scene.post("/flush").expect(200);
    assert_eq!(scene.get("/trace").code, 200);
    let file = TraceFile::read(&scene.folder.join("trace-001.json"));
    assert_eq!((file.count("kept"), file.count("meanwhile"), file.count("muted")), (1, 0, 0));
    drop(span!("late", "kept"));
    assert_eq!(scene.post("/stop_profile").expect(200)["recorded"], 2);
}

#[test]
fn requested_categories_end_with_the_recording() {
    let scene = Scene::new("categories");
    let recorded = |scene: &Scene| {
        drop(span!("of a", "a"));
        drop(span!("of b", "b"));
        scene.post("/stop_profile").expect(200)["recorded"].as_u64().unwrap()
    };
    scene.post("/start_profile").expect(200);
    scene.post("/categories?categories=a").expect(200);
    assert_eq!(recorded(&scene), 1);
    assert_eq!(scene.get("/status").expect(200)["categories"], "");
    scene.post("/start_profile").expect(200);
    assert_eq!(recorded(&scene), 2, "all categories are recorded again");
    scene.send("POST", "/start_profile", r#"{"categories": "-a,-b"}"#).expect(200);
    assert_eq!(recorded(&scene), 0);
    scene.post("/start_profile").expect(200);
    assert_eq!(recorded(&scene), 2, "categories of one request do not apply to the next");
    control::set_categories("-b".parse().unwrap());
    scene.post("/start_profile").expect(200);
    assert_eq!(recorded(&scene), 1, "categories set by the program stay");
}

#[test]
fn a_ring_is_dumped_and_the_dump_can_be_read() {
    let scene = Scene::new("dump");
    let started = scene.send("POST", "/start_profile", r#"{"ring": "1MiB", "limit": 4194304, "name": "ring"}"#);
    started.expect(200);
    (0..200_000u64).for_each(|i| drop(span!("work", "test", i)));
    assert_eq!(scene.post("/dump?reason=slow%20step").expect(202)["reason"], "slow step");
    scene.post("/dump").refused(429, "while another dump was under way");
    let status = scene.get("/status").expect(200);
    assert_eq!((&status["dumps"], &status["dumps_refused"]["under_way"]), (&1.into(), &1.into()));
    until("the dump is there", || scene.get("/trace").code == 200);
    let trace = scene.get("/trace?name=ring-001.dump-001.json");
    assert_eq!(trace.code, 200);
    let file = TraceFile::read(&scene.folder.join("ring-001.dump-001.json"));
    assert_eq!(file.count("trigger"), 1);
    assert!(file.count("work") > 0 && file.count("work") < 200_000);
    assert!(String::from_utf8(trace.body).unwrap().contains("slow step"));
}

#[test]
fn unknown_paths_and_methods_get_json_errors() {
    let scene = Scene::new("unknown");
    let list = scene.get("/");
    assert_eq!(list.code, 200);
    assert!(String::from_utf8(list.body).unwrap().contains("POST /start_profile"));
    scene.get("/nothing").refused(404, "GET /");
    scene.get("/../../etc/passwd").refused(404, "GET /");
    for path in ["/start_profile", "/stop_profile", "/flush", "/categories"] {
        scene.get(path).refused(405, "POST");
    }
    for method in ["POST", "DELETE"] {
        scene.send(method, "/status", "").refused(405, "GET");
    }
    assert_eq!(control::status().state, State::Off);
}

#[test]
fn a_router_is_mounted_into_another_server() {
    let scene = Scene::new("mounted");
    let options = HttpOptions::new(&scene.folder).token("secret");
    let app = axum::Router::new().nest("/profiler", http::router(options));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(axum::serve(listener, app).into_future());
    let ask = |method: &str, path: &str, token: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let head = format!("{method} /profiler{path} HTTP/1.1\r\nHost: engine.example\r\nConnection: close\r\n");
        let length = "Content-Length: 0\r\n\r\n";
        stream.write_all(format!("{head}Authorization: Bearer {token}\r\n{length}").as_bytes()).unwrap();
        Answer::read(&mut stream)
    };
    ask("POST", "/start_profile", "wrong").refused(401, "token");
    ask("POST", "/start_profile", "secret").expect(200);
    drop(span!("work"));
    ask("GET", "/nothing", "secret").refused(404, "GET /");
    ask("GET", "/stop_profile", "secret").refused(405, "POST");
    assert_eq!(ask("POST", "/stop_profile", "secret").expect(200)["recorded"], 1);
    assert_eq!(ask("GET", "/trace", "secret").code, 200);
}

#[test]
fn a_mounted_router_without_a_token_refuses_requests_to_unknown_hosts() {
    let scene = Scene::new("mounted-hosts");
    let options = HttpOptions::new(&scene.folder).allow_host("engine.internal");
    let app = axum::Router::new().nest("/profiler", http::router(options));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(axum::serve(listener, app).into_future());
    let ask = |host: &str, more: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let head = format!("POST /profiler/start_profile HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}");
        stream.write_all(format!("{head}Content-Length: 0\r\n\r\n").as_bytes()).unwrap();
        Answer::read(&mut stream)
    };
    // A page of `evil.example` whose name points to this host: the browser takes both for one origin.
    ask("evil.example", "").refused(403, "Host");
    ask("evil.example", "Origin: http://evil.example\r\n").refused(403, "Host");
    ask("engine.internal.evil.example:80", "").refused(403, "Host");
    assert_eq!(control::status().state, State::Off);
    ask(&format!("localhost:{}", address.port()), "").expect(200);
    ask("engine.internal:8000", "").refused(409, "already recording");
    ask(&address.to_string(), "").refused(409, "already recording");
}

#[test]
fn a_token_is_checked_and_required_for_public_addresses() {
    let scene = Scene::with("token", |options| options.token("s3cret"));
    scene.post("/start_profile").refused(401, "Bearer");
    scene.get("/status").refused(401, "Bearer");
    let with = |token: &str| {
        scene.raw(format!("GET /status HTTP/1.1\r\nConnection: close\r\nAuthorization: {token}\r\n\r\n").as_bytes())
    };
    with("Bearer s3cre").refused(401, "Bearer");
    with("Bearer s3cret!").refused(401, "Bearer");
    with("Basic s3cret").refused(401, "Bearer");
    with("Bearer s3cret").expect(200);
    for address in ["0.0.0.0:0", "[::]:0"] {
        let options = HttpOptions::new(&scene.folder).address(address.parse().unwrap());
        let error = http::serve(options.clone()).unwrap_err().to_string();
        assert!(error.contains("FERRUM_TRACE_HTTP_TOKEN"), "{error}");
        http::serve(options.clone().token("")).unwrap_err();
        if address.starts_with('0') {
            http::serve(options.token("secret")).unwrap().stop();
        }
    }
    let missing = HttpOptions::new(scene.folder.join("missing")).address("127.0.0.1:0".parse().unwrap());
    assert!(http::serve(missing).unwrap_err().to_string().contains("directory"));
    let taken = HttpOptions::new(&scene.folder).address(scene.address.to_string().parse().unwrap());
    assert!(http::serve(taken).unwrap_err().to_string().contains("cannot listen"));
}

#[test]
fn web_pages_are_refused() {
    let scene = Scene::new("pages");
    let with = |headers: &str| {
        scene.raw(format!("POST /start_profile HTTP/1.1\r\nConnection: close\r\n{headers}\r\n\r\n").as_bytes())
    };
    with("Host: localhost\r\nOrigin: http://example.com").refused(403, "web pages");
    with("Host: example.com").refused(403, "Host");
    with("Host: example.com\r\nOrigin: http://example.com").refused(403, "Host");
    assert_eq!(control::status().state, State::Off);
}

#[test]
fn no_file_is_written_outside_of_the_directory() {
    let scene = Scene::new("inside/served");
    let outside = scene.folder.parent().unwrap().to_owned();
    let before: Vec<_> = std::fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().path()).collect();
    std::fs::create_dir(scene.folder.join("inner")).unwrap();
    std::os::unix::fs::symlink(&outside, scene.folder.join("link")).unwrap();
    std::os::unix::fs::symlink(outside.join("leaked.json"), scene.folder.join("planted-001.json")).unwrap();
    std::os::unix::fs::symlink(outside.join("leaked.spool"), scene.folder.join("planted-002.json.spool")).unwrap();
    let long = "x".repeat(300);
    let absolute = outside.join("x").display().to_string();
    for name in
        ["../x", "..", ".", "", "a/b", "/etc/x", "%2e%2e%2fx", "a\0b", "..\\x", "C:\\x", "a\nb", "ü", &long, &absolute]
    {
        let body = serde_json::json!({ "name": name }).to_string();
        scene.send("POST", "/start_profile", &body).refused(400, "name");
    }
    let parent = outside.display().to_string();
    for (dir, code) in [
        ("..", 403),
        ("inner/../..", 403),
        ("/", 403),
        ("/etc", 403),
        (&*parent, 403),
        ("link", 403),
        ("inner\0", 403),
        ("..\\x", 400),
        ("missing", 400),
        ("planted-001.json", 400),
    ] {
        let body = serde_json::json!({ "output_dir": dir }).to_string();
        scene.send("POST", "/start_profile", &body).refused(code, "output_dir");
    }
    for form in ["json/../../x", "exe", "../x"] {
        let body = serde_json::json!({ "form": form }).to_string();
        scene.send("POST", "/start_profile", &body).refused(400, "form");
    }
    let inner = scene.folder.join("inner").display().to_string();
    for (body, path) in [
        (serde_json::json!({ "name": "planted" }), "planted-003.json"),
        (serde_json::json!({ "output_dir": inner }), "inner/trace-001.json"),
        (serde_json::json!({ "output_dir": "inner", "form": ".spool" }), "inner/trace-001.spool"),
    ] {
        let started = scene.send("POST", "/start_profile", &body.to_string()).expect(200);
        assert_eq!(started["path"], scene.folder.join(path).to_str().unwrap());
        drop(span!("work"));
        scene.post("/stop_profile").expect(200);
        assert_eq!(scene.get("/trace").code, 200);
    }
    let after: Vec<_> = std::fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(before, after);
}

#[test]
fn bodies_and_heads_that_are_too_large_are_refused() {
    let scene = Scene::new("large");
    let post = "POST /start_profile HTTP/1.1\r\nHost: localhost\r\n";
    scene.raw(format!("{post}Content-Length: 1000000000\r\n\r\n").as_bytes()).refused(413, "4096");
    // A chunked body has no length in the head.
    let chunk = format!("fff\r\n{}\r\n", " ".repeat(0xfff));
    let chunked = format!("{post}Transfer-Encoding: chunked\r\n\r\n{chunk}{chunk}");
    scene.raw(chunked.as_bytes()).refused(413, "4096");
    let flood = scene.send("POST", "/start_profile", &" ".repeat(4 << 20));
    assert!([0, 413].contains(&flood.code), "{flood:?}");
    let fitting = format!("{}{{}}", " ".repeat(4094));
    scene.send("POST", "/start_profile", &fitting).expect(200);
    scene.post("/stop_profile").expect(200);
    let many: String = (0..200).map(|n| format!("X-{n}: y\r\n")).collect();
    assert_eq!(scene.raw(format!("{post}{many}\r\n").as_bytes()).code, 431);
    let long = format!("X: {}\r\n\r\n", "y".repeat(100_000));
    assert_eq!(scene.raw(format!("{post}{long}").as_bytes()).code, 431);
    let path = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "z".repeat(100_000));
    assert!([414, 431].contains(&scene.raw(path.as_bytes()).code));
    assert_eq!(scene.get("/status").code, 200);
}

#[test]
fn malformed_requests_are_refused() {
    let scene = Scene::new("garbage");
    for bytes in [
        &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..],
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /start_profile HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /start_profile HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"\0\0\0\0\r\n\r\n",
    ] {
        let answer = scene.raw(bytes);
        assert!([0, 400, 505].contains(&answer.code), "{answer:?}");
    }
    for body in ["[]", "{", "nothing", r#"{"name": 7}"#, r#"{"unknown": 1}"#, "\u{feff}{}"] {
        scene.send("POST", "/start_profile", body).refused(400, "expected");
    }
    assert_eq!(control::status().state, State::Off);
    scene.get("/status").expect(200);
}

#[test]
fn slow_clients_time_out() {
    let scene = Scene::new("slow");
    let mut slow: Vec<TcpStream> = (0..15).map(|_| scene.connect()).collect();
    slow[0].write_all(b"GET /status HTTP/1.1\r\nHost: local").unwrap();
    let head = "POST /start_profile HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{";
    slow[1].write_all(head.as_bytes()).unwrap();
    // A valid request keeps its connection open, but not for long.
    let keeping = scene.connect();
    (&keeping).write_all(b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let late: Vec<u16> = slow.into_iter().map(|mut stream| Answer::read(&mut stream).code).collect();
    assert_eq!(Answer::read(&mut &keeping).code, 200);
    assert_eq!(late[1], 408);
    assert!(late.iter().all(|code| [0, 408].contains(code)), "{late:?}");
    scene.get("/status").expect(200);
    assert_eq!(control::status().state, State::Off);
}

/// Reads until a response is complete, and leaves the connection open.
fn read_one_response(mut stream: &TcpStream) -> String {
    let mut text = String::new();
    let mut piece = [0; 4096];
    while !text.ends_with("}\n") {
        let n_bytes = stream.read(&mut piece).unwrap();
        assert!(n_bytes > 0, "closed after {text}");
        text.push_str(std::str::from_utf8(&piece[..n_bytes]).unwrap());
    }
    text
}

#[test]
fn idle_connections_do_not_lock_anyone_out() {
    let scene = Scene::new("idle");
    let idle: Vec<TcpStream> = (0..16).map(|_| scene.connect()).collect();
    for mut stream in &idle {
        stream.write_all(b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        assert!(read_one_response(stream).starts_with("HTTP/1.1 200 "));
    }
    // The one that has been idle for longest makes place. The others stay.
    scene.get("/status").expect(200);
    assert_eq!((&idle[0]).read(&mut [0; 16]).unwrap(), 0);
    for mut stream in &idle[1..] {
        stream.write_all(b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        assert!(read_one_response(stream).starts_with("HTTP/1.1 200 "));
    }
}

#[test]
fn connections_beyond_those_that_are_being_served_are_refused() {
    let scene = Scene::new("busy");
    // The server waits for the bodies.
    let head = "POST /start_profile HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n";
    let busy: Vec<TcpStream> = (0..16).map(|_| scene.connect()).collect();
    for mut stream in &busy {
        stream.write_all(head.as_bytes()).unwrap();
        // The request has reached the interface.
        let mut answer = [0; 25];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 100 Continue\r\n\r\n");
    }
    let refused = scene.get("/status");
    assert!([0, 503].contains(&refused.code), "{refused:?}");
    (&busy[0]).write_all(b"{}").unwrap();
    assert!(read_one_response(&busy[0]).starts_with("HTTP/1.1 200 "));
    scene.get("/status").expect(200);
}

#[test]
fn one_of_many_parallel_starts_succeeds() {
    let scene = Scene::new("parallel");
    let start = || scene.post("/start_profile").code;
    for round in 1..=3 {
        let codes: Vec<u16> = thread::scope(|scope| {
            let starts: Vec<_> = (0..12).map(|_| scope.spawn(start)).collect();
            starts.into_iter().map(|start| start.join().unwrap()).collect()
        });
        assert_eq!(codes.iter().filter(|&&code| code == 200).count(), 1, "{codes:?}");
        assert_eq!(codes.iter().filter(|&&code| code == 409).count(), 11, "{codes:?}");
        scene.post("/stop_profile").expect(200);
        assert_eq!(scene.names().len(), round);
    }
}

#[test]
fn the_rate_of_starts_is_limited() {
    let scene = Scene::new("rate");
    let codes = (0..40).map(|_| {
        let started = scene.post("/start_profile");
        if started.code == 200 {
            scene.post("/stop_profile").expect(200);
        } else {
            started.refused(429, "too many");
            assert!(started.header("retry-after").unwrap().parse::<u64>().unwrap() <= 60);
        }
        started.code
    });
    let n_begun = codes.take_while(|&code| code == 200).count();
    assert!((10..40).contains(&n_begun), "{n_begun}");
}

#[test]
fn a_slow_reader_does_not_block_others() {
    let scene = Scene::new("reader");
    scene.post("/start_profile").expect(200);
    (0..300_000u64).for_each(|i| drop(span!("work", "test", i)));
    scene.post("/stop_profile").expect(200);
    let n_bytes = std::fs::metadata(scene.folder.join("trace-001.json")).unwrap().len();
    let mut reader = scene.connect();
    reader.write_all(request("GET", "/trace", "").as_bytes()).unwrap();
    let mut begin = [0; 1000];
    reader.read_exact(&mut begin).unwrap();
    // More is left than socket buffers hold, and other requests are served.
    assert!(n_bytes > 20 << 20, "{n_bytes}");
    scene.post("/start_profile").expect(200);
    counter!("work", n = 1);
    assert_eq!(scene.post("/stop_profile").expect(200)["recorded"], 1);
    std::fs::remove_file(scene.folder.join("trace-001.json")).unwrap();
    let rest = std::io::copy(&mut reader, &mut std::io::sink()).unwrap();
    assert!(
        rest > n_bytes - 1000 && rest < n_bytes + 1000,
        "expected the rest of the removed file, received {rest} of {n_bytes} bytes"
    );
}

#[test]
fn a_unix_socket_is_private_and_is_removed_with_the_server() {
    let scene = Scene::new("unix");
    let path = scene.folder.join("engine.sock");
    let options = HttpOptions::new(&scene.folder).address(format!("unix:{}", path.display()).parse().unwrap());
    let server = http::serve(options.clone()).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let ask = |method: &str, target: &str| {
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.write_all(request(method, target, "").as_bytes()).unwrap();
        Answer::read(&mut stream)
    };
    ask("POST", "/start_profile").expect(200);
    drop(span!("work"));
    assert_eq!(ask("POST", "/stop_profile").expect(200)["recorded"], 1);
    let error = http::serve(options.clone()).unwrap_err().to_string();
    assert!(error.contains("listens there already"), "{error}");
    ask("GET", "/status").expect(200);
    server.stop();
    assert!(!path.exists());
    // A socket that a killed process left.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let server = http::serve(options.clone()).unwrap();
    ask("GET", "/status").expect(200);
    server.stop();
    std::fs::write(&path, "mine").unwrap();
    let error = http::serve(options).unwrap_err().to_string();
    assert!(error.contains("expected a socket"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
}

/// Set for the child process that plays the engine.
const IS_ENGINE: &str = "FERRUM_TEST_IS_ENGINE";

/// Not a test, but the engine of the tests below, which run this program again. It works until standard input is
/// closed.
#[test]
fn an_engine_that_the_environment_controls() {
    if std::env::var_os(IS_ENGINE).is_none() {
        return;
    }
    step();
    let work = thread::spawn(|| {
        loop {
            step();
            thread::sleep(Duration::from_millis(1));
        }
    });
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
    assert!(!work.is_finished());
}

fn engine(variables: &[(&str, &str)]) -> Running {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "an_engine_that_the_environment_controls", "--nocapture"]);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("FERRUM_TRACE_")) {
        command.env_remove(name);
    }
    Running::start(command.env(IS_ENGINE, "1").envs(variables.iter().copied()))
}

fn ask_unix(path: &Path, method: &str, target: &str, token: &str) -> Answer {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let rest = format!("Connection: close\r\nAuthorization: Bearer {token}\r\nContent-Length: 0\r\n\r\n");
    stream.write_all(format!("{method} {target} HTTP/1.1\r\n{rest}").as_bytes()).unwrap();
    Answer::read(&mut stream)
}

#[test]
fn the_environment_starts_the_server_and_its_socket_is_removed_at_exit() {
    let folder = folder("environment");
    let socket = folder.join("engine.sock");
    let address = format!("unix:{}", socket.display());
    let engine = engine(&[
        ("FERRUM_TRACE_HTTP", &address),
        ("FERRUM_TRACE_HTTP_DIR", folder.to_str().unwrap()),
        ("FERRUM_TRACE_HTTP_TOKEN", "secret"),
    ]);
    until("it listens", || UnixStream::connect(&socket).is_ok());
    ask_unix(&socket, "POST", "/start_profile", "guess").refused(401, "token");
    ask_unix(&socket, "POST", "/start_profile", "secret").expect(200);
    until("it records", || {
        ask_unix(&socket, "POST", "/flush", "secret").expect(200);
        TraceFile::read(&folder.join("trace-001.json")).count("decode") > 0
    });
    assert!(ask_unix(&socket, "POST", "/stop_profile", "secret").expect(200)["recorded"].as_u64().unwrap() > 0);
    assert_eq!(ask_unix(&socket, "GET", "/trace", "secret").code, 200);
    let ended = engine.finish().expect_success();
    assert!(!ended.stderr.contains("ferrum-trace"), "{ended}");
    assert!(!socket.exists());
}

#[test]
fn a_recording_of_the_environment_can_be_stopped_and_the_next_one_is_beside_it() {
    let folder = folder("beside");
    let (socket, out) = (folder.join("engine.sock"), folder.join("run-%p.json"));
    let address = format!("unix:{}", socket.display());
    let engine = engine(&[("FERRUM_TRACE_HTTP", &address), ("FERRUM_TRACE_OUT", out.to_str().unwrap())]);
    let path = folder.join(format!("run-{}.json", engine.pid()));
    until("it listens", || UnixStream::connect(&socket).is_ok());
    assert_eq!(ask_unix(&socket, "POST", "/stop_profile", "").expect(200)["path"], path.to_str().unwrap());
    assert_eq!(ask_unix(&socket, "GET", "/trace", "").body, std::fs::read(&path).unwrap());
    let next = ask_unix(&socket, "POST", "/start_profile", "").expect(200);
    assert_eq!(next["path"], folder.join("trace-001.json").to_str().unwrap());
    engine.finish().expect_success();
    // The recording that was running at exit is complete.
    TraceFile::read(&folder.join("trace-001.json"));
}

#[test]
fn invalid_http_settings_are_reported_in_one_line() {
    let folder = folder("told");
    let folder = folder.to_str().unwrap();
    let any = ("FERRUM_TRACE_HTTP", "127.0.0.1:0");
    for (variables, word) in [
        (&[any, ("FERRUM_TRACE_HTTP_DIR", folder)][..], "listening on http://127.0.0.1:"),
        (&[("FERRUM_TRACE_HTTP", "everywhere")], "found `everywhere`"),
        (&[("FERRUM_TRACE_HTTP", "0.0.0.0:0"), ("FERRUM_TRACE_HTTP_DIR", folder)], "FERRUM_TRACE_HTTP_TOKEN"),
        (&[any, ("FERRUM_TRACE_HTTP_DIR", "missing")], "missing: expected a directory"),
        (&[any, ("FERRUM_TRACE_HTTP_DIR", folder), ("FERRUM_TRACE_HTTP_TOKEN", "a b")], "expected a token"),
    ] {
        let ended = engine(variables).finish().expect_success();
        let lines: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with("ferrum-trace: ")).collect();
        assert!(lines.len() == 1 && lines[0].contains(word), "{variables:?}: {ended}");
    }
    assert_eq!(engine(&[("FERRUM_TRACE_HTTP", "off")]).finish().expect_success().stderr, "");
}
