//! Lines of CSV files (RFC 4180).

/// A cell; quoted where it must be, and never one that a spreadsheet would run.
#[must_use]
pub fn cell(text: &str) -> String {
    let text = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn cells_are_text() {
        assert_eq!(["a", "=1+1", "a,\"b\"", "-1"].map(cell), ["a", "'=1+1", "\"a,\"\"b\"\"\"", "'-1"]);
    }
}
