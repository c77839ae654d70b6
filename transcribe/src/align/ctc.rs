//! Viterbi over a CTC network: words in order, each with several pronunciations, pauses between.
//!
//! A gap before, between and after words takes blanks and word boundaries; it may also take
//! sound that the text does not hold, at a price. A word may be left out, at a price that grows
//! with its length: text that was not said then moves nobody's boundaries. A wildcard takes any
//! sound, or none.

use super::conformer::{LogProbs, TOKENS};
use super::phones::{BLANK, Phone, WORD_BOUNDARY, token_id};

/// Price, in log probability a frame, of a gap over a frame that sounds like a phone.
const FILLER_PRICE: f32 = 4.0;
/// Price, in log probability a phone, of leaving a word out.
const SKIP_PRICE: f32 = 6.0;
/// The same for a wildcard, which usually is not said at all.
const SKIP_WILDCARD_PRICE: f32 = 1.5;
/// Price, in log probability a phone, of a pronunciation that is another one without its beginning
/// ("point five" for "zero point five"): what is not heard in noise may still be said.
const SHORTENED_PRICE: f32 = 2.0;
/// Price a frame of a wildcard's sound.
const WILDCARD_PRICE: f32 = 1.0;
/// No frame of a phone counts worse than this: one slurred phone must not decide.
const FLOOR: f32 = -9.0;

/// Where a word came to lie.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Placed {
    /// Frames of the first and the last phone's peak.
    pub first: usize,
    pub last: usize,
    /// Index of the pronunciation taken.
    pub way: usize,
    /// Mean log probability of its phones' best frames, relative to the frame's best token.
    pub score: f32,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Gap(usize),
    Phone { word: usize, way: usize, phone: usize },
    Blank { word: usize },
    Wild { word: usize },
}

struct State {
    kind: Kind,
    /// Row of the frame's emission table.
    emission: usize,
    from: Vec<u32>,
    /// Price of entering it from another state.
    entry: f32,
}

struct Network {
    states: Vec<State>,
    /// State of the gap before each word, and the last.
    gaps: Vec<usize>,
    /// The price of leaving each word out.
    skip: Vec<f32>,
}

const GAP_EMISSION: usize = Phone::ALL.len();
const BLANK_EMISSION: usize = GAP_EMISSION + 1;
const WILD_EMISSION: usize = GAP_EMISSION + 2;
const EMISSIONS: usize = GAP_EMISSION + 3;

/// Emission scores of a piece of audio, one row of `EMISSIONS` a frame.
pub(super) struct Emissions {
    pub frames: usize,
    values: Vec<f32>,
}

impl Emissions {
    pub fn new(log_probs: &LogProbs) -> Self {
        let sets: Vec<Vec<usize>> = Phone::ALL.iter().map(|p| p.tokens().iter().filter_map(|t| token_id(t)).collect()).collect();
        let mut values = Vec::with_capacity(log_probs.frames * EMISSIONS);
        for f in 0..log_probs.frames {
            let row = log_probs.row(f);
            // The first token of a set is the phone's own; the others stand in for it.
            let phone = |set: &Vec<usize>| {
                let own = row[set[0]];
                set[1..].iter().fold(own, |best, &i| best.max(row[i] - 0.5)).max(FLOOR)
            };
            values.extend(sets.iter().map(phone));
            let blank = row[BLANK].max(row[WORD_BOUNDARY]);
            let sound = row.iter().take(WORD_BOUNDARY).copied().fold(f32::NEG_INFINITY, f32::max);
            values.push(blank.max(sound - FILLER_PRICE));
            values.push(row[BLANK].max(FLOOR));
            values.push((sound - WILDCARD_PRICE).max(FLOOR));
        }
        debug_assert_eq!(values.len(), log_probs.frames * EMISSIONS);
        debug_assert_eq!(log_probs.values.len(), log_probs.frames * TOKENS);
        Self { frames: log_probs.frames, values }
    }

    fn at(&self, frame: usize, emission: usize) -> f32 {
        self.values[frame * EMISSIONS + emission]
    }

    /// A phone's score in a frame, relative to the best that the frame could be, blank included.
    fn relative(&self, frame: usize, phone: Phone) -> f32 {
        let row = &self.values[frame * EMISSIONS..frame * EMISSIONS + WILD_EMISSION];
        let best = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        row[phone as usize] - best
    }
}

impl Network {
    fn new(words: &[Vec<Vec<Phone>>]) -> Self {
        let mut n = Self { states: Vec::new(), gaps: Vec::new(), skip: Vec::new() };
        let gap = n.push(Kind::Gap(0), GAP_EMISSION, vec![]);
        n.gaps.push(gap);
        // The last phones of the words before, from which a word may start without a gap.
        let mut ends: Vec<(usize, Option<Phone>)> = Vec::new();
        for (w, ways) in words.iter().enumerate() {
            let entry = n.gaps[w];
            let mut new_ends = Vec::new();
            if ways.is_empty() {
                let mut from = vec![entry as u32];
                from.extend(ends.iter().map(|(s, _)| *s as u32));
                let wild = n.push(Kind::Wild { word: w }, WILD_EMISSION, from);
                new_ends.push((wild, None));
                n.skip.push(SKIP_WILDCARD_PRICE);
            } else {
                for (way, phones) in ways.iter().enumerate() {
                    let longer = ways.iter().filter(|o| o.len() > phones.len() && o.ends_with(phones)).map(Vec::len).min();
                    let shortened = longer.map_or(0.0, |l| SHORTENED_PRICE * (l - phones.len()) as f32);
                    let mut previous: Option<(usize, usize, Phone)> = None;
                    for (i, &p) in phones.iter().enumerate() {
                        let from = match previous {
                            None => std::iter::once(entry).chain(ends.iter().filter(|(_, e)| *e != Some(p)).map(|(s, _)| *s)).collect(),
                            Some((_, blank, q)) if q == p => vec![blank],
                            Some((state, blank, _)) => vec![state, blank],
                        };
                        let from = from.into_iter().map(|s| s as u32).collect();
                        let state = n.push(Kind::Phone { word: w, way, phone: i }, p as usize, from);
                        if i == 0 {
                            n.states[state].entry = shortened;
                        }
                        if i + 1 < phones.len() {
                            let blank = n.push(Kind::Blank { word: w }, BLANK_EMISSION, vec![state as u32]);
                            previous = Some((state, blank, p));
                        } else {
                            new_ends.push((state, Some(p)));
                        }
                    }
                }
                let shortest = ways.iter().map(Vec::len).min().unwrap_or(1);
                n.skip.push(SKIP_PRICE * shortest as f32);
            }
            let from = new_ends.iter().map(|(s, _)| *s as u32).collect();
            let gap = n.push(Kind::Gap(w + 1), GAP_EMISSION, from);
            n.gaps.push(gap);
            ends = new_ends;
        }
        n
    }

    fn push(&mut self, kind: Kind, emission: usize, mut from: Vec<u32>) -> usize {
        let id = self.states.len();
        from.push(id as u32);
        self.states.push(State { kind, emission, from, entry: 0.0 });
        id
    }
}

/// Places the words on the frames; a word that the sound does not hold is `None`.
///
/// `words` holds each word's pronunciations, none for a wildcard.
pub(super) fn align(emissions: &Emissions, words: &[Vec<Vec<Phone>>]) -> Vec<Option<Placed>> {
    let frames = emissions.frames;
    if frames == 0 || words.is_empty() {
        return vec![None; words.len()];
    }
    let network = Network::new(words);
    let n = network.states.len();
    let mut score = vec![f32::NEG_INFINITY; n];
    let mut next = vec![f32::NEG_INFINITY; n];
    let mut back = vec![u32::MAX; frames * n];
    // Marks a gap that was entered, in the same frame, from the gap before by leaving the word out.
    const SKIPPED: u32 = 1 << 31;
    for f in 0..frames {
        for (s, state) in network.states.iter().enumerate() {
            let (best, from) = if f == 0 {
                let first = state.kind == Kind::Gap(0) || state.from.first() == Some(&0);
                (if first { 0.0 } else { f32::NEG_INFINITY }, s as u32)
            } else {
                state
                    .from
                    .iter()
                    .map(|&p| (score[p as usize] - if p as usize == s { 0.0 } else { state.entry }, p))
                    .fold((f32::NEG_INFINITY, u32::MAX), |best, here| if here.0 > best.0 { here } else { best })
            };
            next[s] = best + emissions.at(f, state.emission);
            back[f * n + s] = from;
        }
        for w in 0..words.len() {
            let (here, there) = (network.gaps[w], network.gaps[w + 1]);
            let skipped = next[here] - network.skip[w];
            if skipped > next[there] {
                next[there] = skipped;
                back[f * n + there] = here as u32 | SKIPPED;
            }
        }
        std::mem::swap(&mut score, &mut next);
    }
    let last_gap = network.gaps[words.len()];
    let ends = network.states[last_gap].from.iter().map(|s| *s as usize);
    let mut state = ends.max_by(|a, b| score[*a].total_cmp(&score[*b])).unwrap_or(last_gap);
    let mut path: Vec<(usize, usize)> = Vec::with_capacity(frames);
    let mut f = frames - 1;
    loop {
        let from = back[f * n + state];
        if from != u32::MAX && from & SKIPPED != 0 {
            state = (from & !SKIPPED) as usize;
            continue;
        }
        path.push((f, state));
        if f == 0 {
            break;
        }
        if from == u32::MAX {
            return vec![None; words.len()];
        }
        state = from as usize;
        f -= 1;
    }
    path.reverse();
    read_path(&path, &network, emissions, words)
}

fn read_path(path: &[(usize, usize)], network: &Network, emissions: &Emissions, words: &[Vec<Vec<Phone>>]) -> Vec<Option<Placed>> {
    struct Seen {
        first: usize,
        last: usize,
        way: usize,
        /// Best relative score of each phone.
        best: Vec<f32>,
    }
    let mut seen: Vec<Option<Seen>> = words.iter().map(|_| None).collect();
    for &(f, s) in path {
        match network.states[s].kind {
            Kind::Gap(_) | Kind::Blank { .. } => {}
            Kind::Wild { word } => {
                let e = seen[word].get_or_insert(Seen { first: f, last: f, way: 0, best: vec![FLOOR] });
                e.last = f;
            }
            Kind::Phone { word, way, phone } => {
                let phones = &words[word][way];
                let e = seen[word].get_or_insert_with(|| Seen { first: f, last: f, way, best: vec![f32::NEG_INFINITY; phones.len()] });
                // The last phone's peak begins where it is first entered.
                if phone + 1 < phones.len() || e.best[phone] == f32::NEG_INFINITY {
                    e.last = f;
                }
                e.best[phone] = e.best[phone].max(emissions.relative(f, phones[phone]));
            }
        }
    }
    seen.into_iter()
        .map(|s| s.map(|s| Placed { first: s.first, last: s.last, way: s.way, score: s.best.iter().sum::<f32>() / s.best.len() as f32 }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames that are blank but for the sounds given: frame, phone, log probability.
    fn emissions(frames: usize, heard: &[(usize, Phone, f32)]) -> Emissions {
        let mut values = vec![FLOOR; frames * EMISSIONS];
        for row in values.chunks_exact_mut(EMISSIONS) {
            (row[GAP_EMISSION], row[BLANK_EMISSION], row[WILD_EMISSION]) = (0.0, 0.0, -WILDCARD_PRICE);
        }
        for &(f, p, v) in heard {
            let row = &mut values[f * EMISSIONS..(f + 1) * EMISSIONS];
            row[p as usize] = v;
            row[GAP_EMISSION] = -FILLER_PRICE;
            row[BLANK_EMISSION] = FLOOR;
        }
        Emissions { frames, values }
    }

    #[test]
    fn a_beginning_lost_in_noise_is_still_said() {
        let (long, short) =
            (vec![Phone::Z, Phone::OW, Phone::P, Phone::OY, Phone::N, Phone::T], vec![Phone::P, Phone::OY, Phone::N, Phone::T]);
        let words = [vec![long.clone(), short]];
        let point = [(12, Phone::P, -0.1), (14, Phone::OY, -0.1), (16, Phone::N, -0.1), (18, Phone::T, -0.1)];
        // Something was there, less like the word than a gap is.
        let faint = [(4, Phone::Z, -5.5), (7, Phone::OW, -5.5)];
        let placed = align(&emissions(24, &[&faint[..], &point].concat()), &words);
        assert_eq!(placed[0].as_ref().map(|p| (p.way, p.first, p.last)), Some((0, 4, 18)));
        // Nothing was there.
        let placed = align(&emissions(24, &point), &words);
        assert_eq!(placed[0].as_ref().map(|p| (p.way, p.first, p.last)), Some((1, 12, 18)));
    }
}
