//! How a written word may be read aloud, for alignment only.
//!
//! The written word stays what it is; this gives the ways in which a person may say it ("4,9":
//! "four point nine", "four comma nine", "forty nine"), and the aligner takes the one that the
//! sound supports. A word without a reading (an emoji, another script) is a wildcard.

/// One piece of a reading.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Part {
    /// A word in lower case, for the dictionary.
    Word(String),
    /// A letter, said by its name.
    Letter(char),
}

/// A way to say a written word.
pub type Reading = Vec<Part>;

/// More readings than this are not tried.
pub const MAX_READINGS: usize = 8;
/// A longer word is no word; it is treated as a wildcard.
pub const MAX_CHARS: usize = 128;

/// The ways to say `word`, most likely first; none if it is a wildcard.
///
/// ```
/// use redline_transcribe::align::normalise::{readings, spoken};
/// let all: Vec<String> = readings("2.5mm").iter().map(spoken).collect();
/// assert_eq!(all[0], "two point five millimeters");
/// ```
#[must_use]
pub fn readings(word: &str) -> Vec<Reading> {
    if word.chars().count() > MAX_CHARS {
        return Vec::new();
    }
    let tokens = tokens(word);
    let mut all: Vec<Reading> = vec![Vec::new()];
    for (i, t) in tokens.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|p| tokens.get(p));
        let ways = ways(t, before, tokens.get(i + 1), tokens.len() == 1);
        if ways.is_empty() {
            continue;
        }
        all = all.iter().flat_map(|head| ways.iter().map(|tail| [head.as_slice(), tail].concat())).collect();
        // Keeping the head keeps the first choice of every token.
        all.truncate(MAX_READINGS);
    }
    if let Some((currency, amount)) = money(&tokens) {
        all = amount.into_iter().flat_map(|a| [a.clone(), with_currency(a, currency)]).collect();
        all.reverse();
    }
    all.retain(|r| !r.is_empty());
    let mut unique: Vec<Reading> = Vec::new();
    for r in all {
        if !unique.contains(&r) && unique.len() < MAX_READINGS {
            unique.push(r);
        }
    }
    unique
}

/// A reading as text, for people.
#[must_use]
pub fn spoken(reading: &Reading) -> String {
    let parts: Vec<String> = reading
        .iter()
        .map(|p| match p {
            Part::Word(w) => w.clone(),
            Part::Letter(c) => c.to_uppercase().to_string(),
        })
        .collect();
    parts.join(" ")
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    /// As written, letters and apostrophes.
    Letters(String),
    /// Digits with their separators.
    Number(String),
    Symbol(char),
}

fn fold(c: char) -> &'static str {
    match c {
        'à' | 'á' | 'â' | 'ã' | 'å' | 'ā' => "a",
        'ä' | 'æ' => "ae",
        'ç' | 'č' | 'ć' => "c",
        'è' | 'é' | 'ê' | 'ë' | 'ē' => "e",
        'ì' | 'í' | 'î' | 'ï' => "i",
        'ñ' | 'ń' => "n",
        'ò' | 'ó' | 'ô' | 'õ' => "o",
        'ö' | 'œ' => "oe",
        'ù' | 'ú' | 'û' => "u",
        'ü' => "ue",
        'ß' => "ss",
        'š' | 'ś' => "sh",
        'ž' | 'ź' | 'ż' => "z",
        _ => "",
    }
}

fn tokens(word: &str) -> Vec<Token> {
    let chars: Vec<char> = word.chars().map(|c| if c == '’' || c == 'ʼ' { '\'' } else { c }).collect();
    let mut out: Vec<Token> = Vec::new();
    for (i, &c) in chars.iter().enumerate() {
        let next = chars.get(i + 1).copied().unwrap_or(' ');
        let folded = c.to_lowercase().next().map_or("", fold);
        if c.is_ascii_digit() {
            match out.last_mut() {
                Some(Token::Number(n)) => n.push(c),
                _ => out.push(Token::Number(c.into())),
            }
        } else if ".,:".contains(c) && next.is_ascii_digit() && matches!(out.last(), Some(Token::Number(_))) {
            if let Some(Token::Number(n)) = out.last_mut() {
                n.push(c);
            }
        } else if c.is_ascii_alphabetic() || (c == '\'' && next.is_ascii_alphabetic()) || (c != 'ø' && c != 'Ø' && !folded.is_empty()) {
            let text = if folded.is_empty() { c.to_string() } else { folded.to_string() };
            match out.last_mut() {
                Some(Token::Letters(l)) => l.push_str(&text),
                _ if c == '\'' => {}
                _ => out.push(Token::Letters(text)),
            }
        } else {
            out.push(Token::Symbol(c));
        }
    }
    out
}

fn words(text: &str) -> Reading {
    text.split(' ').filter(|w| !w.is_empty()).map(|w| Part::Word(w.into())).collect()
}

fn letters(text: &str) -> Reading {
    text.chars().filter(char::is_ascii_alphabetic).map(|c| Part::Letter(c.to_ascii_lowercase())).collect()
}

/// Units and short forms: what is written, and how it may be said.
const UNITS: &[(&str, &[&str])] = &[
    ("mm", &["millimeters", "millimeter"]),
    ("cm", &["centimeters", "centimeter"]),
    ("dm", &["decimeters"]),
    ("km", &["kilometers", "kilometer"]),
    ("m", &["meters", "meter"]),
    ("um", &["microns", "micrometers"]),
    ("µm", &["microns", "micrometers"]),
    ("in", &["inches", "inch"]),
    ("ft", &["feet", "foot"]),
    ("kg", &["kilograms", "kilogram", "kilos"]),
    ("g", &["grams", "gram"]),
    ("lb", &["pounds", "pound"]),
    ("lbs", &["pounds"]),
    ("deg", &["degrees", "degree"]),
    ("rad", &["radians", "radian"]),
    ("rpm", &["r p m"]),
    ("s", &["seconds", "second"]),
    ("ms", &["milliseconds"]),
    ("min", &["minutes", "minute"]),
    ("h", &["hours", "hour"]),
    ("k", &["thousand", "k"]),
    ("x", &["by", "times", "x"]),
    ("dia", &["diameter"]),
    ("approx", &["approximately"]),
    ("vs", &["versus"]),
    ("etc", &["et cetera"]),
    ("mr", &["mister"]),
    ("mrs", &["missus"]),
    ("dr", &["doctor"]),
    ("nr", &["number"]),
];

/// Units that are words or letters of their own: only after a number.
const ONLY_AFTER_NUMBER: &[&str] = &["m", "in", "g", "s", "h", "k", "x", "min", "rad"];

fn unit(text: &str) -> Option<&'static [&'static str]> {
    UNITS.iter().find(|(u, _)| *u == text).map(|(_, says)| *says)
}

fn ways(t: &Token, before: Option<&Token>, after: Option<&Token>, alone: bool) -> Vec<Reading> {
    match t {
        Token::Letters(l) => letter_ways(l, before, after, alone),
        Token::Number(n) => {
            if let (Some(Token::Letters(suffix)), Some(v)) = (after, plain(n))
                && is_ordinal_suffix(suffix)
            {
                return vec![words(&ordinal(v))];
            }
            number_ways(n)
        }
        Token::Symbol(c) => symbol_ways(*c),
    }
}

fn is_ordinal_suffix(s: &str) -> bool {
    ["st", "nd", "rd", "th"].contains(&s.to_ascii_lowercase().as_str())
}

fn letter_ways(l: &str, before: Option<&Token>, after: Option<&Token>, alone: bool) -> Vec<Reading> {
    let lower = l.to_ascii_lowercase();
    let after_number = matches!(before, Some(Token::Number(_)));
    if after_number && is_ordinal_suffix(l) {
        return Vec::new();
    }
    let mut out = Vec::new();
    if let Some(says) = unit(&lower)
        && (after_number || !ONLY_AFTER_NUMBER.contains(&lower.as_str()))
    {
        out.extend(says.iter().map(|s| if s.contains(' ') { letters(s) } else { words(s) }));
        out.push(letters(l));
        return out;
    }
    let capitals = l.chars().filter(char::is_ascii_alphabetic).all(|c| c.is_ascii_uppercase());
    let count = l.chars().filter(char::is_ascii_alphabetic).count();
    let beside_number = after_number || matches!(after, Some(Token::Number(_)));
    if count == 1 {
        // "a" and "I" as words are in the dictionary; beside a digit it is a letter's name.
        out.push(letters(l));
        if alone {
            out.insert(0, words(&lower));
        }
    } else if capitals && count <= 6 || beside_number && count <= 2 {
        out.push(letters(l));
        out.push(words(&lower));
    } else {
        out.push(words(&lower));
    }
    out
}

fn symbol_ways(c: char) -> Vec<Reading> {
    let says: &[&str] = match c {
        '%' => &["percent"],
        '&' => &["and"],
        '+' => &["plus"],
        '=' => &["equals"],
        '×' | '✕' => &["by", "times"],
        '÷' => &["divided by"],
        '°' | 'º' => &["degrees", "degree"],
        '@' => &["at"],
        '#' => &["number", "hash"],
        'Ø' | 'ø' | '⌀' | '∅' => &["diameter"],
        '±' => &["plus or minus", "plus minus"],
        '²' => &["squared"],
        '³' => &["cubed"],
        '½' => &["a half", "one half", "half"],
        '¼' => &["a quarter", "one quarter", "quarter"],
        '¾' => &["three quarters"],
        'µ' | 'μ' => &["micro"],
        'Ω' => &["ohms"],
        '"' | '″' => return Vec::new(),
        _ => return Vec::new(),
    };
    says.iter().map(|s| words(s)).collect()
}

/// The currency and the ways to say the amount, of "$43,000" or "13.60€".
fn money(tokens: &[Token]) -> Option<(&'static str, Vec<Reading>)> {
    let name = |c: char| match c {
        '$' => Some("dollars"),
        '£' => Some("pounds"),
        '€' => Some("euros"),
        '¥' => Some("yen"),
        _ => None,
    };
    let currency = tokens.iter().find_map(|t| if let Token::Symbol(c) = t { name(*c) } else { None })?;
    let number = tokens.iter().find_map(|t| if let Token::Number(n) = t { Some(n) } else { None })?;
    let mut ways = number_ways(number);
    if let Some((whole, cents)) = number.split_once('.').filter(|(_, c)| c.len() == 2)
        && let (Some(whole), Some(cents)) = (plain(whole), plain(cents))
    {
        let spoken_cents = if cents == 0 { String::new() } else { cardinal(cents) };
        let (w, joined) = (cardinal(whole), format!("{} {spoken_cents}", cardinal(whole)));
        ways = vec![words(&joined), words(&format!("{w} {currency} and {spoken_cents}")), words(&format!("{w} {currency} {spoken_cents}"))];
    }
    ways.truncate(3);
    ways.reverse();
    Some((currency, ways))
}

fn with_currency(mut amount: Reading, currency: &str) -> Reading {
    if !amount.contains(&Part::Word(currency.into())) {
        amount.push(Part::Word(currency.into()));
    }
    amount
}

fn plain(n: &str) -> Option<u64> {
    let digits: String = n.chars().filter(|c| *c != ',').collect();
    digits.parse().ok().filter(|v| *v < 1_000_000_000_000)
}

const DIGITS: [&str; 10] = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];

fn digits(n: &str) -> String {
    let spelled: Vec<&str> = n.chars().filter_map(|c| c.to_digit(10)).filter_map(|d| DIGITS.get(d as usize).copied()).collect();
    spelled.join(" ")
}

fn is_grouped(n: &str) -> bool {
    let mut groups = n.split(',');
    groups.next().is_some_and(|g| !g.is_empty() && g.len() <= 3) && n.contains(',') && groups.all(|g| g.len() == 3)
}

fn number_ways(n: &str) -> Vec<Reading> {
    let mut says: Vec<String> = Vec::new();
    if let Some((a, b)) = n.split_once(':') {
        says.push(format!("{} {}", say_whole(a), say_whole(b)));
    } else if let Some((whole, fraction)) = n.split_once('.') {
        let head = say_whole(whole);
        says.push(format!("{head} point {}", digits(fraction)));
        says.push(format!("{head} point {}", say_whole(fraction)));
        says.push(format!("{head} {}", say_whole(fraction)));
        if whole == "0" {
            says.push(format!("point {}", digits(fraction)));
        }
    } else if n.contains(',') && !is_grouped(n) {
        let parts: Vec<&str> = n.split(',').collect();
        says.push(parts.iter().map(|p| say_whole(p)).collect::<Vec<_>>().join(" comma "));
        says.push(parts.iter().map(|p| say_whole(p)).collect::<Vec<_>>().join(" point "));
        says.push(parts.iter().map(|p| say_whole(p)).collect::<Vec<_>>().join(" "));
        says.push(say_whole(&parts.concat()));
    } else if let Some(v) = plain(n) {
        if n.len() > 1 && n.starts_with('0') {
            says.push(digits(n));
        }
        says.push(cardinal(v));
        if n.len() == 4 && v % 1000 != 0 {
            says.push(two_pairs(v));
        }
        if v >= 100 {
            says.push(cardinal(v).replace("hundred ", "hundred and "));
        }
        if !n.contains(',') && n.len() > 1 {
            says.push(digits(n));
        }
        if v == 0 {
            says.push("oh".into());
        }
    } else {
        says.push(digits(n));
    }
    says.iter().map(|s| words(s)).collect()
}

fn two_pairs(v: u64) -> String {
    let (a, b) = (v / 100, v % 100);
    match b {
        0 => format!("{} hundred", cardinal(a)),
        1..10 => format!("{} oh {}", cardinal(a), cardinal(b)),
        _ => format!("{} {}", cardinal(a), cardinal(b)),
    }
}

fn say_whole(n: &str) -> String {
    match plain(n) {
        Some(v) if !(n.len() > 1 && n.starts_with('0')) => cardinal(v),
        _ => digits(n),
    }
}

/// A whole number in words.
fn cardinal(v: u64) -> String {
    const TEENS: [&str; 10] =
        ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"];
    const TENS: [&str; 10] = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    let at = |names: &[&'static str; 10], i: u64| names.get(i as usize).copied().unwrap_or_default();
    let join = |head: String, rest: u64| if rest == 0 { head } else { format!("{head} {}", cardinal(rest)) };
    match v {
        0..10 => at(&DIGITS, v).into(),
        10..20 => at(&TEENS, v - 10).into(),
        20..100 => join(at(&TENS, v / 10).into(), v % 10),
        100..1000 => join(format!("{} hundred", at(&DIGITS, v / 100)), v % 100),
        1000..1_000_000 => join(format!("{} thousand", cardinal(v / 1000)), v % 1000),
        1_000_000..1_000_000_000 => join(format!("{} million", cardinal(v / 1_000_000)), v % 1_000_000),
        _ => join(format!("{} billion", cardinal(v / 1_000_000_000)), v % 1_000_000_000),
    }
}

fn ordinal(v: u64) -> String {
    let c = cardinal(v);
    let (head, last) = c.rsplit_once(' ').map_or(("", c.as_str()), |(h, l)| (h, l));
    let last = match last {
        "one" => "first".into(),
        "two" => "second".into(),
        "three" => "third".into(),
        "five" => "fifth".into(),
        "eight" => "eighth".into(),
        "nine" => "ninth".into(),
        "twelve" => "twelfth".into(),
        l => l.strip_suffix('y').map_or_else(|| format!("{l}th"), |stem| format!("{stem}ieth")),
    };
    if head.is_empty() { last } else { format!("{head} {last}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(word: &str) -> Vec<String> {
        readings(word).iter().map(spoken).collect()
    }

    #[test]
    fn first_readings() {
        for (word, want) in [
            ("fillet", "fillet"),
            ("“Edge,”", "edge"),
            ("don’t", "don't"),
            ("mm.", "millimeters"),
            ("2.5", "two point five"),
            ("45°", "forty five degrees"),
            ("Ø8", "diameter eight"),
            ("M6", "M six"),
            ("3rd", "third"),
            ("20th", "twentieth"),
            ("10mm", "ten millimeters"),
            ("$43,000.", "forty three thousand dollars"),
            ("12", "twelve"),
            ("50%", "fifty percent"),
            ("CBS", "C B S"),
            ("a", "a"),
            ("café", "cafe"),
            ("left-hand", "left hand"),
            ("10x20", "ten by twenty"),
            ("007", "zero zero seven"),
            ("1,234,567", "one million two hundred thirty four thousand five hundred sixty seven"),
        ] {
            assert_eq!(said(word).first().map(String::as_str), Some(want), "{word}: {:?}", said(word));
        }
    }

    #[test]
    fn other_ways_are_kept() {
        assert!(said("4,9").iter().any(|s| s == "four point nine") && said("4,9").iter().any(|s| s == "forty nine"));
        assert!(said("£13.60").iter().any(|s| s == "thirteen pounds sixty"), "{:?}", said("£13.60"));
        assert!(said("1984").iter().any(|s| s == "nineteen eighty four"));
        assert!(said("CAD").iter().any(|s| s == "cad"));
        assert!(said("11").iter().any(|s| s == "eleven"));
    }

    #[test]
    fn what_nobody_can_say_is_a_wildcard() {
        for word in ["🙂", "—", "...", "→", "日本", "", &"x".repeat(1000)] {
            assert_eq!(said(word), Vec::<String>::new(), "{word}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_gives_few_readings(word in "\\PC{0,40}") {
            proptest::prop_assert!(readings(&word).len() <= MAX_READINGS);
        }
    }
}
