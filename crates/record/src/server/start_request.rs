//! The request to start a recording.

use super::answer::{Refusal, quoted};
use super::folder::{check_name, folder, free_path};
use super::options::HttpOptions;
use crate::process::options::Options;
use ferrum_trace_format::spool::FILE_EXTENSION;
use ferrum_trace_model::settings::{Extent, Window, parse_bytes};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Default name of files.
const NAME: &str = "trace";
/// Extensions that a client may choose.
const FORMS: [&str; 6] = ["json", "json.gz", "json.zst", "pftrace", "perfetto-trace", FILE_EXTENSION];

/// The body of `/start_profile`. Fields that SGLang's clients send for torch's profiler are accepted and not used.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StartRequest {
    #[serde(alias = "profile_prefix")]
    name: Option<String>,
    output_dir: Option<String>,
    start_step: Option<u64>,
    num_steps: Option<u64>,
    window: Option<String>,
    categories: Option<String>,
    ring: Option<Amount>,
    limit: Option<Amount>,
    form: Option<String>,
    activities: Option<IgnoredAny>,
    with_stack: Option<IgnoredAny>,
    record_shapes: Option<IgnoredAny>,
    profile_by_stage: Option<IgnoredAny>,
    profile_stages: Option<IgnoredAny>,
    merge_profiles: Option<IgnoredAny>,
}

/// A number of bytes: `1000000` or `"64MiB"`.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a number of bytes, or a text such as \"64MiB\"")]
enum Amount {
    Bytes(u64),
    Text(String),
}

impl Amount {
    fn text(&self) -> String {
        match self {
            Self::Bytes(bytes) => bytes.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

impl StartRequest {
    /// Reads a body. No body is the same as an empty object.
    pub(super) fn read(body: &[u8]) -> Result<Self, Refusal> {
        if body.trim_ascii().is_empty() {
            return Ok(Self::default());
        }
        let wrong = |error| Refusal::bad(format!("expected a JSON object, or no body: {error}"));
        serde_json::from_slice(body).map_err(wrong)
    }

    /// Returns true if the request has any settings for the recording.
    pub(super) fn asks_for_something(&self) -> bool {
        let Self { name, output_dir, start_step, num_steps, window, categories, ring, limit, form, .. } = self;
        let texts = [name, output_dir, window, categories, form];
        texts.iter().any(|text| text.is_some())
            || [start_step, num_steps].iter().any(|steps| steps.is_some())
            || [ring, limit].iter().any(|amount| amount.is_some())
    }

    /// Returns a note for each field that is not used.
    pub(super) fn notes(&self) -> Vec<String> {
        let foreign = [
            ("activities", &self.activities),
            ("with_stack", &self.with_stack),
            ("record_shapes", &self.record_shapes),
            ("profile_by_stage", &self.profile_by_stage),
            ("profile_stages", &self.profile_stages),
            ("merge_profiles", &self.merge_profiles),
        ];
        let given = foreign.iter().filter(|(_, value)| value.is_some());
        given.map(|(name, _)| format!("`{name}` is for torch's profiler and is not used")).collect()
    }

    /// Returns the options of the recording.
    pub(super) fn options(&self, options: &HttpOptions) -> Result<Options, Refusal> {
        let name = self.name.as_deref().unwrap_or(NAME);
        check_name(name)?;
        let form = self.form()?;
        let window = self.window()?;
        let limit = self.limit(options.limit)?;
        let folder = folder(&options.directory, self.output_dir.as_deref())?;
        let mut recording = Options { window, ..Options::new(free_path(&folder, name, form)?) };
        recording.session.limit = limit;
        if let Some(categories) = &self.categories {
            let wrong = |error| Refusal::bad(format!("`categories`: {error}"));
            recording.categories = Some(categories.parse().map_err(wrong)?);
        }
        recording.session.ring = self.ring()?.map(|extent| match extent {
            Extent::Bytes(bytes) => Extent::Bytes(bytes.min(limit)),
            Extent::Time(time) => Extent::Time(time),
        });
        Ok(recording)
    }

    fn form(&self) -> Result<&str, Refusal> {
        let form = self.form.as_deref().map_or(FORMS[0], |form| form.trim_start_matches('.'));
        let is_known = FORMS.contains(&form);
        let wrong =
            || Refusal::bad(format!("expected `form` to be one of {}, found {}", FORMS.join(", "), quoted(form)));
        is_known.then_some(form).ok_or_else(wrong)
    }

    fn window(&self) -> Result<Window, Refusal> {
        let window = self.window.as_deref().unwrap_or_default();
        if self.start_step.is_none() && self.num_steps.is_none() {
            return window.parse().map_err(|error| Refusal::bad(format!("`window`: {error}")));
        }
        if !window.is_empty() {
            return Err(Refusal::bad("expected `window`, or `start_step` and `num_steps`, found both"));
        }
        if self.num_steps == Some(0) {
            return Err(Refusal::bad("expected `num_steps` to be 1 or more, found 0"));
        }
        let start = self.start_step.unwrap_or(0);
        let end = self.num_steps.map_or(u64::MAX, |n| start.saturating_add(n));
        Ok(Window::default().steps(start..end))
    }

    /// Returns the requested limit, or `allowed` if that is lower.
    fn limit(&self, allowed: u64) -> Result<u64, Refusal> {
        let Some(limit) = &self.limit else {
            return Ok(allowed);
        };
        let text = limit.text();
        let wrong = || Refusal::bad(format!("expected `limit` to be bytes such as `512MiB`, found {}", quoted(&text)));
        parse_bytes(&text).map(|bytes| bytes.min(allowed)).ok_or_else(wrong)
    }

    fn ring(&self) -> Result<Option<Extent>, Refusal> {
        let Some(ring) = &self.ring else {
            return Ok(None);
        };
        let wrong = |error| Refusal::bad(format!("`ring`: {error}"));
        ring.text().parse().map(Some).map_err(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn steps_are_counted_as_sglang_does() {
        let window = |body: &str| StartRequest::read(body.as_bytes()).unwrap().window().unwrap();
        assert_eq!(window(r#"{"num_steps": 5}"#), Window::default().steps(..5));
        assert_eq!(
            window(r#"{"start_step": 3, "num_steps": 5, "activities": ["CPU"]}"#),
            Window::default().steps(3..8)
        );
        assert_eq!(window(r#"{"start_step": 3, "window": null}"#), Window::default().steps(3..));
        assert_eq!(window(""), Window::default());
    }

    #[test]
    fn errors_name_the_problem() {
        let folder = std::env::temp_dir();
        let options = HttpOptions::new(folder);
        for (body, word) in [
            ("[]", "JSON object"),
            ("{", "JSON object"),
            (r#"{"widnow": "x"}"#, "widnow"),
            (r#"{"window": "x"}"#, "steps="),
            (r#"{"window": "steps=1", "num_steps": 1}"#, "both"),
            (r#"{"num_steps": 0}"#, "1 or more"),
            (r#"{"num_steps": -1}"#, "`-1`"),
            (r#"{"categories": "a*b"}"#, "a*b"),
            (r#"{"ring": "big"}"#, "64MiB"),
            (r#"{"ring": 0}"#, "64MiB"),
            (r#"{"limit": []}"#, "number of bytes"),
            (r#"{"form": "exe"}"#, "pftrace"),
            (r#"{"name": "../x"}"#, "../x"),
            (r#"{"output_dir": "../.."}"#, "inside"),
            (r#"{"output_dir": "/etc"}"#, "inside"),
            (r#"{"output_dir": "a\u0000"}"#, "inside"),
        ] {
            let refused = StartRequest::read(body.as_bytes()).and_then(|request| request.options(&options));
            let words = format!("{:?}", refused.map(|_| ()).unwrap_err());
            assert!(words.contains(word), "{body}: {words}");
        }
    }

    proptest! {
        #[test]
        fn no_body_causes_a_panic_or_an_outside_path(name in ".{0,30}", dir in "[./a\\\\%0-9e]{0,12}|.{0,12}") {
            let base = std::env::temp_dir().canonicalize().unwrap();
            let body = serde_json::json!({ "name": name, "output_dir": dir });
            let request = StartRequest::read(body.to_string().as_bytes()).unwrap();
            if let Ok(found) = folder(&base, request.output_dir.as_deref()) {
                prop_assert!(found.starts_with(&base));
            }
            if check_name(&name).is_ok() {
                let path = free_path(&base, &name, "json").map_err(|_| ()).unwrap();
                prop_assert_eq!(path.parent(), Some(base.as_path()));
            }
        }
    }
}
