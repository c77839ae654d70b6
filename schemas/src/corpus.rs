use crate::Utc;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a designer asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Modality {
    /// Typed; understood without the video.
    Text,
    /// Talking and pointing.
    Interactive,
    /// With strokes that fade after seconds.
    DrawTemp,
    /// With strokes that stay until deleted.
    DrawStatic,
}

/// How much editing work a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Difficulty {
    /// About 2 minutes.
    Easy,
    /// About 5 minutes.
    Medium,
    /// About 10 minutes.
    Hard,
}

macro_rules! names {
    ($t:ty, $($v:ident => $s:literal),+) => {
        impl $t {
            /// All values, in order.
            pub const ALL: &'static [Self] = &[$(Self::$v),+];
            /// The name used in files and on the command line.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$v => $s),+ }
            }
        }
        impl std::fmt::Display for $t {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.pad(self.as_str()) }
        }
        impl std::str::FromStr for $t {
            type Err = crate::Error;
            fn from_str(s: &str) -> crate::Result<Self> {
                match s { $($s => Ok(Self::$v),)+ _ => Err(crate::Error::Value(format!("“{s}” is none of {}", [$($s),+].join(", ")))) }
            }
        }
    };
}
pub(crate) use names;
names!(Modality, Text => "text", Interactive => "interactive", DrawTemp => "draw-temp", DrawStatic => "draw-static");
names!(Difficulty, Easy => "easy", Medium => "medium", Hard => "hard");

/// `corpus.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CorpusManifest {
    /// [`crate::FORMAT_VERSION`].
    pub format_version: u32,
    /// The collection effort's name.
    pub name: String,
    /// SPDX identifier of the licence that releases get.
    pub licence: String,
    /// When the corpus was made.
    pub created_utc: Utc,
    /// BCP 47 language of the requests; absent: detected for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Words that transcription should expect (CAD terms, part names).
    #[serde(default)]
    pub word_list: Vec<String>,
    /// What is to be collected.
    pub protocol: Protocol,
    /// What participants agree to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consent: Option<ConsentText>,
    /// Named splits as shares of the requests' models; empty: evaluation only.
    #[serde(default)]
    pub splits: Vec<Split>,
    /// Failure labels that runs may use.
    #[serde(default)]
    pub failure_labels: Vec<String>,
}

/// What is to be collected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Protocol {
    /// Modalities in use.
    pub modalities: Vec<Modality>,
    /// Difficulties in use, with guide times.
    pub difficulties: Vec<GuideTime>,
    /// Requests wanted for each model.
    pub requests_per_model: u32,
    /// Edits wanted for each request, by different people.
    pub edits_per_request: u32,
    /// Requests wanted per cell; cells that are not listed are not counted.
    #[serde(default)]
    pub cells: Vec<Cell>,
}

impl Default for Protocol {
    fn default() -> Self {
        Self {
            modalities: Modality::ALL.to_vec(),
            difficulties: Difficulty::ALL
                .iter()
                .zip([2, 5, 10])
                .map(|(&difficulty, guide_minutes)| GuideTime { difficulty, guide_minutes })
                .collect(),
            requests_per_model: 3,
            edits_per_request: 2,
            cells: Vec::new(),
        }
    }
}

/// How long carrying out a request of a difficulty should take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GuideTime {
    /// The difficulty.
    pub difficulty: Difficulty,
    /// Minutes of editing work.
    pub guide_minutes: u32,
}

/// A cell of the protocol and how many requests it wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The modality.
    pub modality: Modality,
    /// The difficulty; absent: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difficulty: Option<Difficulty>,
    /// Parametric or dumb model; absent: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parametric: Option<bool>,
    /// Assembly or single body; absent: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assembly: Option<bool>,
    /// Requests wanted.
    pub wanted: u32,
}

/// The consent text in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsentText {
    /// Changes whenever the text does.
    pub version: String,
    /// What participants read.
    pub text: String,
}

/// A named split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Split {
    /// `train`, `validation`, `test` or another name.
    pub name: String,
    /// Share of the models, 0 to 1.
    pub share: f64,
}
