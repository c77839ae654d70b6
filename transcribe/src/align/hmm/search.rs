//! Viterbi over a chain of phones, each word kept near its rough place.

use super::acoustic_model::{AcousticModel, STATES, Unit};
use super::mfcc::{self, STEP};
use crate::align::phones::Phone;
use std::collections::HashMap;

// The prices were chosen on the `fit` sets of scripts/make_alignment_references.py.

/// Price a frame, against the best phone, of sound in a pause that is no silence.
const FILLER_PRICE: f32 = 14.0;
/// Price of opening a pause between two words: a short closure is no pause.
const PAUSE_PRICE: f32 = 13.0;
/// No phone's frame counts worse than this against the best: one slurred phone must not decide.
const WORST: f32 = 15.0;
/// The longest that a word's first phone may last, frames: in noise, what is weak or opens with a
/// closure would else take the noise of the pause before it. Other phones have no limit.
const LONGEST_STOP: usize = 12;
const LONGEST_WEAK: usize = 12;
const LONGEST_WEAK_VOICED: usize = 9;
/// An edge is the mean over these: how much noise is taken out, and where the first frame begins, samples. One search alone
/// jumps by whole frames, and more with a little more or less noise.
const LOOKS: [(f32, usize); 3] = [(1.0, 0), (1.5, STEP / 2), (2.0, 0)];
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
    /// Whether it belongs to the word's first phone.
    opens: bool,
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

/// Start and end samples of each word, `noisy` if weak sounds drown; `None` when no path exists (too little sound).
pub(in super::super) fn find_edges(model: &AcousticModel, audio: &[f32], chain: &Chain, noisy: bool) -> Option<Vec<(usize, usize)>> {
    let (mut sums, mut looks) = (vec![(0, 0); chain.len()], 0);
    for (noise, skipped) in LOOKS {
        let moved = |at: usize| at.saturating_sub(skipped);
        let moved_link =
            |l: &Link| Link { phones: l.phones.clone(), from: moved(l.from), to: moved(l.to), core: (moved(l.core.0), moved(l.core.1)) };
        let moved_chain = chain.iter().map(moved_link).collect();
        let Some(found) = audio.get(skipped..).and_then(|a| look(model, a, &moved_chain, noisy, noise)) else { continue };
        looks += 1;
        for (sum, (start, end)) in sums.iter_mut().zip(found) {
            *sum = (sum.0 + start + skipped, sum.1 + end + skipped);
        }
    }
    (looks > 0).then(|| sums.into_iter().map(|(start, end)| (start / looks, end / looks)).collect())
}

/// One search, with that much of the noise taken out.
fn look(model: &AcousticModel, audio: &[f32], chain: &Chain, noisy: bool, noise: f32) -> Option<Vec<(usize, usize)>> {
    let frames = mfcc::features(audio, noise);
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
    // The last frame of each word's first phone.
    let mut opened = vec![0; chain.len()];
    let mut s = end;
    for f in (0..frames.len()).rev() {
        if let Some(w) = states[s].word {
            let (_, last) = edges[w].unwrap_or((f, f));
            edges[w] = Some((f, last));
            if states[s].opens {
                opened[w] = f.max(opened[w]);
            }
        }
        s = back[f * n + s] as usize;
        if s >= n {
            break;
        }
    }
    let mut edges: Vec<(usize, usize)> = edges.into_iter().collect::<Option<_>>()?;
    if noisy {
        shorten_openings(&mut edges, &opened, chain);
    }
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

/// Moves the starts of words whose first phone is longer than such a phone is; `opened` holds the
/// last frame of each word's first phone.
fn shorten_openings(edges: &mut [(usize, usize)], opened: &[usize], chain: &Chain) {
    for ((edge, last), link) in edges.iter_mut().zip(opened).zip(chain) {
        if let Some(longest) = link.phones.first().and_then(longest_opening) {
            edge.0 = edge.0.max((last + 1).saturating_sub(longest));
        }
    }
}

fn longest_opening(phone: &Phone) -> Option<usize> {
    match phone {
        Phone::P | Phone::T | Phone::K | Phone::B | Phone::D | Phone::G => Some(LONGEST_STOP),
        Phone::DH | Phone::V => Some(LONGEST_WEAK_VOICED),
        Phone::TH | Phone::F | Phone::HH => Some(LONGEST_WEAK),
        _ => None,
    }
}

fn states(chain: &Chain, frames: usize) -> (Vec<State>, Vec<Unit>) {
    let mut units = vec![Unit::SILENCE, Unit::NOISE];
    let mut index: HashMap<Unit, usize> = HashMap::from([(Unit::SILENCE, 0), (Unit::NOISE, 1)]);
    let last_frame = frames.saturating_sub(1);
    let mut states: Vec<State> = Vec::new();
    let pause = |w: usize, from: Vec<(usize, f32)>| {
        let first = w.checked_sub(1).and_then(|w| chain.get(w)).map_or(0, |l| l.core.1 / STEP);
        let last = chain.get(w).map_or(last_frame, |l| (l.core.0 / STEP).max(first).min(last_frame));
        State { word: None, opens: false, unit: 0, state: 0, kind: Kind::Pause, first, last, from }
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
            exit = push(State { word: Some(w), opens: true, unit: 0, state: 0, kind: Kind::Filler, first, last, from: entry });
        } else {
            for (i, phone) in link.phones.iter().enumerate() {
                let unit = Unit::of(*phone);
                let u = *index.entry(unit).or_insert_with(|| {
                    units.push(unit);
                    units.len() - 1
                });
                for state in 0..STATES {
                    exit = push(State {
                        word: Some(w),
                        opens: i == 0,
                        unit: u,
                        state,
                        kind: Kind::Phone,
                        first,
                        last,
                        from: std::mem::take(&mut entry),
                    });
                    entry = vec![(exit, 0.0)];
                }
            }
        }
        let price = if w + 1 < chain.len() { PAUSE_PRICE } else { 0.0 };
        states.push(pause(w + 1, vec![(exit, price)]));
    }
    (states, units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_does_not_take_the_pause_before_it() {
        let link = |phones: &[Phone]| Link { phones: phones.to_vec(), from: 0, to: 16_000, core: (0, 0) };
        let chain = vec![link(&[Phone::T, Phone::UW]), link(&[Phone::DH, Phone::AH]), link(&[Phone::S, Phone::IY]), link(&[])];
        let mut edges = vec![(10, 60), (61, 75), (76, 140), (141, 150)];
        // A "t" of 41 frames, a "th" of 8, an "s" of 40, a sound of unknown kind.
        shorten_openings(&mut edges, &[50, 68, 115, 150], &chain);
        assert_eq!(edges, [(39, 60), (61, 75), (76, 140), (141, 150)]);
    }
}
