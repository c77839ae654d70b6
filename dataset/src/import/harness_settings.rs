//! `settings.json` of an agent's edit: what of it is read, and what is refused. `docs/harness.md` is the contract.

use super::reference_time::unix_ns;
use redline_schemas::time::{NS_PER_S, from_seconds};
use redline_schemas::{Agent, AgentUsage, EditId, ParticipantId, RequestId, fsio};
use serde_json::{Map, Value};

/// The longest that an edit may take.
const MAX_SECONDS: f64 = 30.0 * 24.0 * 3600.0;

/// More tokens than any edit takes.
const MAX_TOKENS: u64 = 1_000_000_000_000;

/// More than any edit costs, US dollars.
const MAX_COST_USD: f64 = 1_000_000.0;

/// What a harness says of an edit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    pub request: RequestId,
    pub edit: Option<EditId>,
    pub participant: ParticipantId,
    pub agent: Agent,
    /// Whether the model's name was given, not only the participant's.
    pub names_model: bool,
    /// Nanoseconds since 1970.
    pub started_ns: Option<i64>,
    pub duration_ns: i64,
    pub usage: Option<AgentUsage>,
    /// The agent ended without a result.
    pub failed: bool,
    /// What is kept: everything, but for paths and addresses of the machine it ran on.
    pub kept: Value,
}

impl Settings {
    /// Reads the file's text; the error says what is wrong and what to do, without the file's name.
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        let value: Value = serde_json::from_slice(text).map_err(|e| format!("not JSON: {e}"))?;
        let Value::Object(all) = value else { return Err("not a JSON object: see docs/harness.md for its fields".into()) };
        let f = Fields(&all);
        if f.flag("isHuman")?.unwrap_or(false) {
            return Err("“isHuman” is true: people's edits come in by `redline import reference`".into());
        }
        let request = f.text("edit_request_id")?.ok_or("no “edit_request_id”: give the id of the request that was carried out")?;
        let request = RequestId::new(request).map_err(|e| format!("“edit_request_id”: {e}"))?;
        let edit = f.text("edit_id")?.map(EditId::new).transpose().map_err(|e| format!("“edit_id”: {e}"))?;
        let (user, model) = (f.text("userId")?, f.text("model")?);
        let (version, family, harness) = (f.text("model_version")?, f.text("family")?, f.text("harness")?);
        if user.is_some_and(|u| u.contains('@')) {
            return Err("“userId” is an address: addresses never enter a corpus, give the model's name".into());
        }
        let base = model.or(user).ok_or("neither “model” nor “userId”: give the name of the language model")?;
        let name = version.map_or_else(|| base.to_owned(), |v| format!("{base} {v}"));
        let settings: Map<String, Value> = [("model_version", version), ("family", family), ("harness", harness)]
            .into_iter()
            .filter_map(|(k, v)| Some((k.to_owned(), Value::from(v?))))
            .collect();
        let settings = (!settings.is_empty()).then_some(Value::Object(settings));
        let failed = f.flag("failed_run")?.unwrap_or(false);
        let (started_ns, duration_ns) = f.times()?;
        let usage = f.usage()?;
        if usage.is_none() && !failed {
            return Err("no “token_counts” with “total_tokens”, or “input_tokens” and “output_tokens”".into());
        }
        Ok(Self {
            request,
            edit,
            participant: participant(user.unwrap_or(&name)),
            names_model: model.is_some(),
            agent: Agent { model: name, settings },
            started_ns,
            duration_ns,
            usage,
            failed,
            kept: kept(all.clone()),
        })
    }
}

/// A pseudonym that is the same for the same name: the name itself where it is an id, else made like it.
fn participant(name: &str) -> ParticipantId {
    ParticipantId::new(name).unwrap_or_else(|_| {
        let like: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.') { c } else { '-' }).collect();
        let like: String = like.trim_start_matches(['.', '-']).chars().take(48).collect();
        let print = fsio::sha256_bytes(name.as_bytes());
        let print = print.get(..12).unwrap_or_default();
        // Two names that look alike as ids stay two.
        ParticipantId::new(format!("{like}-{print}")).unwrap_or_else(|_| generated(print))
    })
}

fn generated(print: &str) -> ParticipantId {
    ParticipantId::new(format!("agent-{print}")).unwrap_or_else(|_| ParticipantId::generate())
}

/// Without the paths and addresses of the machine it ran on.
fn kept(mut all: Map<String, Value>) -> Value {
    for name in ["filename", "fileName"] {
        if let Some(Value::String(path)) = all.get_mut(name) {
            *path = path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        }
    }
    all.remove("userName");
    all.remove("email");
    Value::Object(all)
}

/// Fields of an object; `null` counts as absent.
struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.0.get(key).filter(|v| !v.is_null())
    }

    /// A name: one line of visible text.
    fn text(&self, key: &str) -> Result<Option<&'a str>, String> {
        let Some(v) = self.get(key) else { return Ok(None) };
        let t = v.as_str().ok_or_else(|| format!("“{key}” is {}, not a text", kind(v)))?;
        redline_schemas::text::name(t).map(Some).map_err(|why| format!("“{key}” {why}"))
    }

    fn flag(&self, key: &str) -> Result<Option<bool>, String> {
        let Some(v) = self.get(key) else { return Ok(None) };
        v.as_bool().map(Some).ok_or_else(|| format!("“{key}” is {}, neither true nor false", kind(v)))
    }

    fn number(&self, key: &str, max: f64, unit: &str) -> Result<Option<f64>, String> {
        let Some(v) = self.get(key) else { return Ok(None) };
        let n = v.as_f64().ok_or_else(|| format!("“{key}” is {}, not a number", kind(v)))?;
        if (0.0..=max).contains(&n) { Ok(Some(n)) } else { Err(format!("“{key}” is {n}: {unit} from 0 to {max} are taken")) }
    }

    fn count(&self, key: &str) -> Result<Option<u64>, String> {
        let Some(v) = self.get(key) else { return Ok(None) };
        let n = v.as_u64().ok_or_else(|| format!("“{key}” is {v}, not a whole number from 0 on"))?;
        if n <= MAX_TOKENS { Ok(Some(n)) } else { Err(format!("“{key}” is {n}: more than {MAX_TOKENS} tokens are not believed")) }
    }

    /// Unix seconds, or RFC 3339.
    fn time(&self, key: &str) -> Result<Option<i64>, String> {
        let Some(v) = self.get(key) else { return Ok(None) };
        let ns = match v {
            Value::Number(n) => n.as_f64().and_then(unix_ns),
            Value::String(s) => {
                let t = chrono::DateTime::parse_from_rfc3339(s).ok().and_then(|t| t.timestamp_nanos_opt());
                // The same years as for numbers.
                t.filter(|ns| unix_ns(*ns as f64 / NS_PER_S as f64).is_some())
            }
            _ => None,
        };
        let bad = || format!("“{key}” is {v}, neither Unix seconds nor RFC 3339 (2026-03-01T10:00:00Z) of this century");
        ns.map(Some).ok_or_else(bad)
    }

    fn times(&self) -> Result<(Option<i64>, i64), String> {
        let seconds = self.number("seconds", MAX_SECONDS, "seconds")?.map(from_seconds);
        match (self.time("start_time")?, self.time("end_time")?, seconds) {
            (Some(a), Some(b), _) if b < a => Err("“end_time” lies before “start_time”".into()),
            (Some(a), Some(b), _) if b - a > from_seconds(MAX_SECONDS) => {
                Err(format!("“end_time” lies more than {} days after “start_time”", MAX_SECONDS / 86_400.0))
            }
            // What the harness says it took may leave out what it waited for.
            (Some(a), Some(b), s) => Ok((Some(a), s.unwrap_or(b - a))),
            (start, end, Some(s)) => Ok((start.or(end.map(|e| e - s)), s)),
            _ => Err("no time: give “start_time” and “end_time”, or “seconds”".into()),
        }
    }

    fn usage(&self) -> Result<Option<AgentUsage>, String> {
        let Some(v) = self.get("token_counts") else { return Ok(None) };
        let Value::Object(counts) = v else { return Err(format!("“token_counts” is {}, not an object", kind(v))) };
        let f = Self(counts);
        let (input, output, thinking) = (f.count("input_tokens")?, f.count("output_tokens")?, f.count("thinking_tokens")?);
        let cost_usd = f.number("cost_estimate", MAX_COST_USD, "US dollars")?;
        let parts = input.zip(output).map(|(i, o)| i + o);
        let tokens = match (f.count("total_tokens")?, parts) {
            (Some(t), Some(p)) if t < p => return Err(format!("“total_tokens” is {t}, less than input and output together ({p})")),
            (Some(t), _) => t,
            (None, Some(p)) => p + thinking.unwrap_or(0),
            (None, None) if cost_usd.is_some() => return Err("“token_counts” has a cost but no “total_tokens”".into()),
            (None, None) => return Ok(None),
        };
        Ok(Some(AgentUsage { tokens, cost_usd }))
    }
}

fn kind(v: &Value) -> &'static str {
    match v {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn good() -> Value {
        json!({ "edit_request_id": "R1", "userId": "modelle-1_script", "start_time": 1_770_976_972.5, "end_time": 1_770_976_982.75,
            "isHuman": false, "token_counts": { "input_tokens": 10, "output_tokens": 5, "thinking_tokens": 7 } })
    }

    fn with(change: Value) -> Result<Settings, String> {
        let mut v = good();
        for (k, x) in change.as_object().unwrap() {
            v[k] = x.clone();
        }
        Settings::parse(v.to_string().as_bytes())
    }

    #[test]
    fn the_reference_shape_is_read() {
        let s = with(json!({
            "edit_id": "modelle-1_script_1770976972.5", "filename": "/data/zq/runs/tmp.step", "isHuman": false, "extra_field": [1],
            "token_counts": { "input_tokens": 56738, "output_tokens": 4980, "thinking_tokens": 56817, "total_tokens": 118_535, "cost_estimate": 0.85504 }
        }))
        .unwrap();
        assert_eq!((s.request.as_str(), s.edit.as_ref().map(EditId::as_str)), ("R1", Some("modelle-1_script_1770976972.5")));
        assert_eq!((s.participant.as_str(), s.agent.model.as_str(), s.names_model), ("modelle-1_script", "modelle-1_script", false));
        assert_eq!((s.started_ns, s.duration_ns), (Some(1_770_976_972_500_000_000), 10_250_000_000));
        assert_eq!(s.usage, Some(AgentUsage { tokens: 118_535, cost_usd: Some(0.85504) }));
        assert_eq!((&s.kept["filename"], &s.kept["extra_field"]), (&json!("tmp.step"), &json!([1])));
    }

    #[test]
    fn times_and_tokens_may_be_given_in_other_ways() {
        let s = with(json!({ "start_time": "2026-03-01T10:00:00Z", "end_time": "2026-03-01T11:00:01.5+01:00" })).unwrap();
        assert_eq!((s.duration_ns, s.usage.unwrap().tokens, s.usage.unwrap().cost_usd), (1_500_000_000, 22, None));
        let s = with(json!({ "start_time": null, "end_time": null, "seconds": 2.5 })).unwrap();
        assert_eq!((s.started_ns, s.duration_ns), (None, 2_500_000_000));
        let s = with(json!({ "token_counts": null, "failed_run": true })).unwrap();
        assert!(s.failed && s.usage.is_none());
    }

    #[test]
    fn a_name_gives_the_same_participant_every_time() {
        let s = with(json!({ "userId": null, "model": "Große 1/β", "model_version": "2026-01", "family": "f" })).unwrap();
        assert_eq!(
            s.agent,
            Agent { model: "Große 1/β 2026-01".into(), settings: Some(json!({ "model_version": "2026-01", "family": "f" })) }
        );
        let id = s.participant.as_str();
        assert!(id.starts_with("Gro-e-1---2026-01-") && id.len() == 30, "{id}");
        assert_eq!(participant("Große 1/β 2026-01").as_str(), id);
        assert_ne!(participant("Große 1/γ 2026-01").as_str(), id);
        assert!(participant("…/..").as_str().len() > 10 && participant(&"x".repeat(200)).as_str().len() <= 64);
        assert_eq!(with(json!({ "userId": "bot", "model": "m" })).unwrap().participant.as_str(), "bot");
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        for (change, says) in [
            (json!({ "edit_request_id": null }), "no “edit_request_id”"),
            (json!({ "edit_request_id": "../R1" }), "“edit_request_id”"),
            (json!({ "edit_request_id": 7 }), "“edit_request_id” is a number"),
            (json!({ "userId": null }), "neither “model” nor “userId”"),
            (json!({ "userId": "zed@example.org" }), "address"),
            (json!({ "model": "a\u{202e}b" }), "nobody can see"),
            (json!({ "model": "a\nb" }), "line ends"),
            (json!({ "model": "x".repeat(201) }), "longer than 200"),
            (json!({ "model": " " }), "empty"),
            (json!({ "model": ["m"] }), "“model” is a list"),
            (json!({ "edit_id": "a/b" }), "“edit_id”"),
            (json!({ "isHuman": true }), "isHuman"),
            (json!({ "isHuman": "no" }), "neither true nor false"),
            (json!({ "start_time": null }), "no time"),
            (json!({ "start_time": 1_770_976_999.0 }), "before"),
            (json!({ "start_time": 1_700_000_000.0 }), "more than 30 days"),
            (json!({ "start_time": 12 }), "“start_time” is 12"),
            (json!({ "start_time": "1500-01-01T00:00:00Z" }), "“start_time”"),
            (json!({ "start_time": null, "end_time": null, "seconds": -1 }), "“seconds” is -1"),
            (json!({ "token_counts": null }), "no “token_counts”"),
            (json!({ "token_counts": 9 }), "not an object"),
            (json!({ "token_counts": { "total_tokens": -1 } }), "“total_tokens” is -1"),
            (json!({ "token_counts": { "total_tokens": 1.5 } }), "“total_tokens” is 1.5"),
            (json!({ "token_counts": { "total_tokens": 2_000_000_000_000_u64 } }), "not believed"),
            (json!({ "token_counts": { "total_tokens": 3, "input_tokens": 2, "output_tokens": 2 } }), "less than input and output"),
            (json!({ "token_counts": { "total_tokens": 3, "cost_estimate": -0.5 } }), "“cost_estimate” is -0.5"),
            (json!({ "token_counts": { "total_tokens": 3, "cost_estimate": 1e300 } }), "“cost_estimate”"),
            (json!({ "token_counts": { "total_tokens": 3, "cost_estimate": "1 $" } }), "not a number"),
            (json!({ "token_counts": { "cost_estimate": 1 } }), "no “total_tokens”"),
        ] {
            let e = with(change.clone()).unwrap_err();
            assert!(e.contains(says), "{change}: {e}");
        }
        assert!(Settings::parse(b"{").unwrap_err().contains("not JSON"));
        assert!(Settings::parse(b"[]").unwrap_err().contains("not a JSON object"));
        assert!(Settings::parse("[".repeat(10_000).as_bytes()).unwrap_err().contains("not JSON"));
    }
    const FIELDS: [&str; 16] = [
        "edit_request_id",
        "userId",
        "model",
        "model_version",
        "edit_id",
        "isHuman",
        "start_time",
        "end_time",
        "seconds",
        "token_counts",
        "total_tokens",
        "input_tokens",
        "output_tokens",
        "cost_estimate",
        "failed_run",
        "filename",
    ];

    fn anything() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<f64>().prop_map(|f| json!(f)),
            any::<u64>().prop_map(Value::from),
            (0.0..2e9_f64).prop_map(|f| json!(f)),
            ".{0,20}".prop_map(Value::from),
            Just(json!("R1")),
        ];
        let fields = || proptest::sample::select(&FIELDS[..]).prop_map(str::to_owned);
        leaf.prop_recursive(2, 24, 12, move |inner| proptest::collection::btree_map(fields(), inner, 0..12).prop_map(|m| json!(m)))
    }

    proptest! {
        #[test]
        fn nothing_gets_past_the_limits(v in anything(), other in anything(), bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Settings::parse(&bytes);
            let mut near = good();
            if let (Value::Object(near), Value::Object(change)) = (&mut near, &other) {
                near.extend(change.clone());
            }
            for s in [v, other, near].iter().filter_map(|v| Settings::parse(v.to_string().as_bytes()).ok()) {
                prop_assert!((0..=from_seconds(MAX_SECONDS)).contains(&s.duration_ns));
                prop_assert!(s.usage.is_some() || s.failed);
                prop_assert!(s.usage.and_then(|u| u.cost_usd).is_none_or(|c| (0.0..=MAX_COST_USD).contains(&c)));
                prop_assert!(!s.agent.model.is_empty() && !s.agent.model.chars().any(char::is_control));
            }
        }
    }
}
