//! Small networks in ONNX files, written field by field: no picture network is small enough to lie in a repository.

/// What a network gives of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// `[1, 3]`: the mean of each channel.
    MeanColour,
    /// `[1, side², 3]`: each pixel's channels, as the tokens of a transformer; the first one is the upper left pixel.
    Tokens,
    /// The mean of a picture with a single channel.
    Grey,
}

/// A network for pictures of `side` × `side`, or of any size when it is absent (not for `Tokens`).
#[must_use]
pub fn network(output: Output, side: Option<u64>) -> Vec<u8> {
    let channels = if output == Output::Grey { 1 } else { 3 };
    let dims = [Some(1), Some(channels), side, side];
    let pixels = side.unwrap_or(1).pow(2);
    let (nodes, shape) = match output {
        Output::MeanColour | Output::Grey => {
            (vec![node("GlobalAveragePool", &["picture"], "pooled", &[]), node("Flatten", &["pooled"], "features", &[])], vec![1, channels])
        }
        Output::Tokens => {
            let order: Vec<Vec<u8>> = [0, 2, 1].iter().map(|i| number(8, *i)).collect();
            let perm = [text(1, "perm"), order.concat(), number(20, 7)].concat();
            let nodes = vec![node("Reshape", &["picture", "shape"], "rows", &[]), node("Transpose", &["rows"], "features", &perm)];
            (nodes, vec![1, pixels, 3])
        }
    };
    let mut graph: Vec<u8> = nodes.iter().flat_map(|n| part(1, n)).collect();
    graph.extend(text(2, "sample"));
    if output == Output::Tokens {
        let shape: Vec<u8> = [1, 3, pixels].iter().flat_map(|v| number(7, *v)).collect();
        graph.extend(part(5, &[number(1, 3), number(2, 7), shape, text(8, "shape")].concat()));
    }
    graph.extend(part(11, &value("picture", &dims)));
    graph.extend(part(12, &value("features", &shape.into_iter().map(Some).collect::<Vec<_>>())));
    // IR version 8, operators of version 13.
    [number(1, 8), text(2, "redline"), part(7, &graph), part(8, &number(2, 13))].concat()
}

fn varint(mut v: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while v >= 0x80 {
        out.push((v & 0x7f) as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
    out
}

fn number(field: u64, v: u64) -> Vec<u8> {
    [varint(field << 3), varint(v)].concat()
}

fn part(field: u64, bytes: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(bytes.len() as u64), bytes.to_vec()].concat()
}

fn text(field: u64, s: &str) -> Vec<u8> {
    part(field, s.as_bytes())
}

fn node(op: &str, inputs: &[&str], output: &str, attribute: &[u8]) -> Vec<u8> {
    let mut n: Vec<u8> = inputs.iter().flat_map(|i| text(1, i)).collect();
    n.extend(text(2, output));
    n.extend(text(4, op));
    if !attribute.is_empty() {
        n.extend(part(5, attribute));
    }
    n
}

/// Single-precision numbers of a shape; an absent side may be any.
fn value(name: &str, dims: &[Option<u64>]) -> Vec<u8> {
    let dims: Vec<u8> = dims.iter().flat_map(|d| part(1, &d.map_or_else(|| text(2, "side"), |d| number(1, d)))).collect();
    let tensor = [number(1, 1), part(2, &dims)].concat();
    [text(1, name), part(2, &part(1, &tensor))].concat()
}
