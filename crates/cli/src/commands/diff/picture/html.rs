//! The picture as a self-contained HTML page, which works without a network.

use super::script::{SCRIPT, SCRIPT_HASH};
use super::svg::{self, Drawing};
use super::{Head, style};
use crate::render::xml::escaped;
use std::fmt::Write as _;

/// Largest number of characters of a text of the head.
const HEAD_CHARS: usize = 500;

/// Style of the page around the picture.
const PAGE: &str = "\
:root{color-scheme:light dark}
body{margin:0;padding:1rem;font:15px/1.4 system-ui,sans-serif;background:#fff;color:#222}
h1{font-size:1.25rem;margin:0 0 .4rem;overflow-wrap:anywhere}
p,li{margin:.2rem 0;max-width:75rem;overflow-wrap:anywhere}
.verdict{font-weight:bold}
ul{color:#666;padding-left:1.2rem}
.picture{overflow-x:auto;margin:0 -1rem}
svg{display:block;width:100%;max-width:1200px;min-width:1000px;height:auto}
#flame>g{cursor:pointer}
#reset{position:fixed;right:1rem;bottom:1rem;padding:.6rem 1rem;font:inherit}
";
const PAGE_DARK: &str = "\
body{background:#16181c;color:#e6e6e6}
ul{color:#a3a7ad}
";

/// Returns the page.
pub(super) fn page(drawing: &Drawing, head: &Head) -> String {
    let (light, dark) = (style::light(), style::dark_colors());
    let picture = svg::element(drawing, &head.title, "");
    let title = escaped(&head.title, HEAD_CHARS);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'sha256-{SCRIPT_HASH}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>\n{PAGE}{light}@media (prefers-color-scheme: dark){{\n{PAGE_DARK}{dark}}}\n</style>\n</head>\n<body>\n\
         <h1>{title}</h1>\n{}<div class=\"picture\">\n{picture}</div>\n\
         <button id=\"reset\" type=\"button\" hidden>Reset zoom</button>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        head_text(head)
    )
}

fn head_text(head: &Head) -> String {
    let mut text = format!("<p class=\"verdict\">{}</p>\n", escaped(&head.headline, HEAD_CHARS));
    if !head.notes.is_empty() {
        text.push_str("<ul>\n");
        for note in &head.notes {
            let _ = writeln!(text, "<li>{}</li>", escaped(note, HEAD_CHARS));
        }
        text.push_str("</ul>\n");
    }
    text
}
