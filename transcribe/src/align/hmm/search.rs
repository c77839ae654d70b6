//! Viterbi over a chain of phones, each word kept near its rough place.

use super::acoustic_model::{AcousticModel, STATES, Unit};
use super::mfcc::{self, STEP};
use crate::align::phones::Phone;
use std::collections::HashMap;

// The prices were chosen on the `fit` sets of scripts/make_alignment_references.py.

/// Price a frame, against the best phone, of sound in a pause that is no silence.
const FILLER_PRICE: f32 = 14.0;
/// Price of opening a pause between two words: a short closure is no pause.
const PAUSE_PRICE: f32 = 15.0;
/// No phone's frame counts worse than this against the best: one slurred phone must not decide.
const WORST: f32 = 15.0;
/// The features' frames are centred later than a phone's edge is heard, samples.
const START_BIAS: usize = 80;

/// A word of the chain.
pub(in super::super) struct Link {
    /// Its phones; none for sound of unknown kind.
    pub phones: Vec<Phone>,
    /// The samples within which it may lie.
    pub from: usize,
    pub to: usize,
    /// Samples at which it surely sounds: no pause lies between them.
    pub core: (usize, usize),
}

/// Words in order.
pub(in super::super) type Chain = Vec<Link>;

struct State {
    /// The word, if it is not a pause.
    word: Option<usize>,
    unit: usize,
    state: usize,
    kind: Kind,
    /// Frames in which it may be.
    first: usize,
    last: usize,
    /// States from which it is entered, apart from itself, and the price.
    from: Vec<(usize, f32)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Phone,
    Pause,
    Filler,
}

/// Start and end samples of each word; `None` when no path exists (too little sound).
pub(in super::super) fn find_edges(model: &AcousticModel, audio: &[f32], chain: &Chain) -> Option<Vec<(usize, usize)>> {
    let frames = mfcc::features(audio);
    let (states, units) = states(chain, frames.len());
    if frames.is_empty() || chain.is_empty() {
        return None;
    }
    let n = states.len();
    let mut back = vec![u32::MAX; frames.len() * n];
    let mut score = vec![f32::NEG_INFINITY; n];
    let mut next = score.clone();
    let mut emission = vec![[0.0; STATES]; units.len()];
    for (f, frame) in frames.iter().enumerate() {
        let mut needed = vec![false; units.len()];
        needed[..2].fill(true);
        states.iter().filter(|s| s.first <= f && f <= s.last).for_each(|s| needed[s.unit] = true);
        for ((u, e), _) in units.iter().zip(&mut emission).zip(&needed).filter(|(_, n)| **n) {
            *e = model.score(*u, frame);
        }
        for (e, _) in emission.iter_mut().zip(&needed).filter(|(_, n)| !**n) {
            *e = [f32::NEG_INFINITY; STATES];
        }
        let best = emission.iter().flatten().copied().fold(f32::NEG_INFINITY, f32::max);
        for (s, state) in states.iter().enumerate() {
            next[s] = f32::NEG_INFINITY;
            if f < state.first || f > state.last {
                continue;
            }
            let (from, value) = if f == 0 {
                (
                    s,
                    if s == 0 || (state.from.iter().any(|(p, _)| *p == 0) && states[0].kind == Kind::Pause) {
                        0.0
                    } else {
                        f32::NEG_INFINITY
                    },
                )
            } else {
                state.from.iter().fold((s, score[s]), |(i, b), (p, price)| {
                    let v = score[*p] - price;
                    if v > b { (*p, v) } else { (i, b) }
                })
            };
            if value == f32::NEG_INFINITY {
                continue;
            }
            back[f * n + s] = from as u32;
            next[s] = value
                + match state.kind {
                    Kind::Phone => emission[state.unit][state.state].max(best - WORST),
                    // Units 0 and 1 are silence and noise.
                    Kind::Pause => emission[0].iter().copied().fold(best - FILLER_PRICE, f32::max),
                    Kind::Filler => best - 1.0,
                };
        }
        std::mem::swap(&mut score, &mut next);
    }
    // The path ends in the last pause or in the last word.
    let end =
        (0..n).filter(|s| *s == n - 1 || states[n - 1].from.iter().any(|(p, _)| p == s)).max_by(|a, b| score[*a].total_cmp(&score[*b]))?;
    if score[end] == f32::NEG_INFINITY {
        return None;
    }
    let mut edges: Vec<Option<(usize, usize)>> = vec![None; chain.len()];
    let mut s = end;
    for f in (0..frames.len()).rev() {
        if let Some(w) = states[s].word {
            let (_, last) = edges[w].unwrap_or((f, f));
            edges[w] = Some((f, last));
        }
        s = back[f * n + s] as usize;
        if s >= n {
            break;
        }
    }
    let edges: Vec<(usize, usize)> = edges.into_iter().collect::<Option<_>>()?;
    // A frame stands for the step around its window's middle.
    let sample = |f: usize| f * STEP + (mfcc::WINDOW - STEP) / 2;
    let start = |f: usize| sample(f) - START_BIAS;
    let end = |i: usize, last: usize| match edges.get(i + 1) {
        // Without a pause a word ends where the next one starts.
        Some((next, _)) if *next == last + 1 => start(*next),
        _ => (sample(last) + STEP).min(audio.len()),
    };
    Some(edges.iter().enumerate().map(|(i, (first, last))| (start(*first), end(i, *last))).collect())
}

fn states(chain: &Chain, frames: usize) -> (Vec<State>, Vec<Unit>) {
    let mut units = vec![Unit::SILENCE, Unit::NOISE];
    let mut index: HashMap<Unit, usize> = HashMap::from([(Unit::SILENCE, 0), (Unit::NOISE, 1)]);
    let last_frame = frames.saturating_sub(1);
    let mut states: Vec<State> = Vec::new();
    let pause = |w: usize, from: Vec<(usize, f32)>| {
        let first = w.checked_sub(1).and_then(|w| chain.get(w)).map_or(0, |l| l.core.1 / STEP);
        let last = chain.get(w).map_or(last_frame, |l| (l.core.0 / STEP).max(first).min(last_frame));
        State { word: None, unit: 0, state: 0, kind: Kind::Pause, first, last, from }
    };
    states.push(pause(0, Vec::new()));
    let mut exit = 0;
    for (w, link) in chain.iter().enumerate() {
        let (first, last) = (link.from / STEP, (link.to / STEP).min(last_frame));
        let pause_state = states.len() - 1;
        let mut entry: Vec<(usize, f32)> = vec![(pause_state, 0.0)];
        if w > 0 {
            entry.push((exit, 0.0));
        }
        let mut push = |word_state: State| {
            states.push(word_state);
            states.len() - 1
        };
        if link.phones.is_empty() {
            exit = push(State { word: Some(w), unit: 0, state: 0, kind: Kind::Filler, first, last, from: entry });
        } else {
            for phone in &link.phones {
                let unit = Unit::of(*phone);
                let u = *index.entry(unit).or_insert_with(|| {
                    units.push(unit);
                    units.len() - 1
                });
                for state in 0..STATES {
                    exit = push(State { word: Some(w), unit: u, state, kind: Kind::Phone, first, last, from: std::mem::take(&mut entry) });
                    entry = vec![(exit, 0.0)];
                }
            }
        }
        let price = if w + 1 < chain.len() { PAUSE_PRICE } else { 0.0 };
        states.push(pause(w + 1, vec![(exit, price)]));
    }
    (states, units)
}
