//! A page that shows models: their facts and their seven views, in one file that needs nothing else.

use crate::ModelFacts;
use redline_schemas::VIEWS;
use std::fmt::Write as _;
use std::path::Path;

/// A model on the page.
#[derive(Debug, Clone)]
pub struct Card {
    /// What it is, e.g. `Input model bracket`.
    pub title: String,
    /// Where it comes from, e.g. a path inside the corpus.
    pub origin: String,
    /// What is known of it; `Err` says why nothing is.
    pub model: Result<ModelFacts, String>,
}

const STYLE: &str = "body{margin:0;background:#fafaf8;color:#1c1c1c;font:16px/1.5 system-ui,\"DejaVu Sans\",sans-serif}\
main{max-width:1180px;margin:0 auto;padding:8px 16px 48px}h1{font-size:22px;margin:16px 0}h2{font-size:18px;margin:0}\
section{background:#fff;border:1px solid #d4d4d0;border-radius:6px;padding:16px;margin:0 0 24px}\
.origin{color:#5b5b5b;font-size:13px;margin:0 0 12px;overflow-wrap:anywhere}\
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(170px,1fr));gap:8px 16px;margin:0 0 16px}\
dt{color:#5b5b5b;font-size:13px}dd{margin:0;font-weight:600;font-variant-numeric:tabular-nums}\
.good::before{content:\"✓ \"}.bad::before{content:\"✗ \"}.bad{color:#a11616}.good{color:#1d6b2f}\
.views{display:grid;grid-template-columns:repeat(auto-fill,minmax(190px,1fr));gap:12px}\
.views .large{grid-column:span 2;grid-row:span 2}figure{margin:0}\
figure img{width:100%;display:block;border:1px solid #e4e4e0;background:#fff}figcaption{font-size:13px;color:#5b5b5b;text-align:center}";

/// The page as HTML; pictures are in it.
#[must_use]
pub fn html(title: &str, cards: &[Card]) -> String {
    let mut h = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{0}</title><style>{STYLE}</style></head>\n<body><main><h1>{0}</h1>\n",
        escape(title)
    );
    for c in cards {
        let _ = writeln!(h, "<section><h2>{}</h2><p class=\"origin\">{}</p>", escape(&c.title), escape(&c.origin));
        match &c.model {
            Err(why) => bad(&mut h, why),
            Ok(m) => model(&mut h, m),
        }
        h.push_str("</section>\n");
    }
    h.push_str("</main></body></html>\n");
    h
}

fn bad(h: &mut String, why: &str) {
    let _ = writeln!(h, "<p class=\"bad\">{}</p>", escape(why));
}

fn model(h: &mut String, m: &ModelFacts) {
    if let Some(e) = &m.error {
        bad(h, &format!("The CAD kernel can’t read it: {e}"));
    }
    if let Some(f) = &m.facts {
        let (c, s) = (f.counts, f.bounding_box.size());
        let valid = if f.valid { ("good", "valid".to_owned()) } else { ("bad", f.problems.join("; ")) };
        let _ = write!(h, "<dl><div><dt>Validity</dt><dd class=\"{}\">{}</dd></div>", valid.0, escape(&valid.1));
        for (name, value) in [
            ("Bodies", c.bodies.to_string()),
            ("Faces", c.faces.to_string()),
            ("Edges", c.edges.to_string()),
            ("Vertices", c.vertices.to_string()),
            ("Size, mm", s.map(number).join(" × ")),
            ("Volume, mm³", number(f.volume)),
            ("Surface, mm²", number(f.area)),
        ] {
            let _ = write!(h, "<div><dt>{name}</dt><dd>{value}</dd></div>");
        }
        h.push_str("</dl>\n");
    }
    if m.views.is_empty() {
        return;
    }
    h.push_str("<div class=\"views\">\n");
    for view in VIEWS {
        let Some(data) = m.views.get(view).and_then(|p| picture(p)) else { continue };
        let class = if view == VIEWS[0] { " class=\"large\"" } else { "" };
        let _ = writeln!(
            h,
            "<figure{class}><img alt=\"{view} view\" src=\"data:image/png;base64,{data}\"><figcaption>{view}</figcaption></figure>"
        );
    }
    let _ = writeln!(h, "</div>\n<p class=\"origin\">{}, SHA-256 {}</p>", escape(&m.kernel), escape(&m.sha256));
}

fn picture(path: &Path) -> Option<String> {
    std::fs::read(path).ok().map(|b| base64(&b))
}

/// Four digits that count, without an exponent.
#[must_use]
pub fn number(v: f64) -> String {
    let digits = if v.abs() >= 1000.0 || v == 0.0 { 0 } else { (3 - v.abs().log10().floor() as i32).clamp(0, 6) as usize };
    let s = format!("{v:.digits$}");
    if s.contains('.') { s.trim_end_matches('0').trim_end_matches('.').to_owned() } else { s }
}

fn escape(s: &str) -> String {
    s.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let n = three.iter().fold(0_u32, |n, b| n << 8 | u32::from(*b)) << (8 * (3 - three.len()));
        for k in 0..4 {
            let digit = DIGITS[(n >> (18 - 6 * k) & 63) as usize] as char;
            out.push(if k <= three.len() { digit } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_as_in_the_rfc() {
        for (plain, coded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn numbers_are_short() {
        for (v, s) in
            [(0.0, "0"), (12.0, "12"), (0.012_345, "0.01235"), (80.25, "80.25"), (123_456.7, "123457"), (99.999, "100"), (-2.5, "-2.5")]
        {
            assert_eq!(number(v), s);
        }
    }

    #[test]
    fn names_can_not_break_the_page() {
        let card = Card { title: "<script>".into(), origin: "a&b".into(), model: Err("\"bad\" <file>".into()) };
        let h = html("t", &[card]);
        assert!(
            !h.contains("<script>") && h.contains("&lt;script&gt;") && h.contains("a&amp;b") && h.contains("&quot;bad&quot; &lt;file&gt;")
        );
    }
}
