//! Writes what plug-ins report into the session's folder, each event once.

use crate::clock_map::ClockMap;
use crate::protocol::{Event, MAX_EVENTS, RoundTrip, What};
use crate::{Error, Result};
use redline_schemas::picture::without_metadata;
use redline_schemas::{CommandEvent, RenderEvent, RenderKind, SelectionEvent, SessionDir, fsio, jsonl};
use std::collections::BTreeMap;

/// The most plug-ins in one session.
const MAX_CLIENTS: usize = 16;

/// Between the numbers of two plug-ins of one session, so that a number stands for one event. The first keeps its own.
const CLIENT_STEP: u64 = 1_000_000_000;

#[derive(Default)]
struct Client {
    clock: ClockMap,
    acknowledged: u64,
    /// Added to its numbers.
    base: u64,
    /// Times of its last event and file: a better clock measurement must not turn their order round.
    last_event_ns: i64,
    last_file_ns: i64,
}

/// The session's CAD streams.
pub struct Sink {
    dir: SessionDir,
    clients: BTreeMap<String, Client>,
    selections: Option<jsonl::Writer<SelectionEvent>>,
    commands: Option<jsonl::Writer<CommandEvent>>,
    renders: Option<jsonl::Writer<RenderEvent>>,
    files: u64,
    lost: u64,
}

/// Where a file that a plug-in sends belongs.
#[derive(Debug, Clone)]
pub struct FileMeta {
    /// What it is.
    pub kind: RenderKind,
    /// Its running number (shared with events).
    pub seq: u64,
    /// When it was true, on the plug-in's clock.
    pub client_ns: i64,
    /// `seq` of the command before it.
    pub after_command: Option<u64>,
    /// `png`, `step` or a native extension.
    pub extension: String,
}

impl Sink {
    /// A sink for a session's folder. Files are made when the first event of their kind comes.
    #[must_use]
    pub fn new(dir: SessionDir) -> Self {
        Self { dir, clients: BTreeMap::new(), selections: None, commands: None, renders: None, files: 0, lost: 0 }
    }

    /// Makes a client known; the last `seq` that is stored of it.
    pub fn hello(&mut self, client: &str) -> Result<u64> {
        let ok = (8..=64).contains(&client.len()) && client.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        if !ok {
            return Err(Error::Protocol("client: 8 to 64 letters, digits, “_” or “-”".into()));
        }
        if self.clients.len() >= MAX_CLIENTS && !self.clients.contains_key(client) {
            return Err(Error::Protocol(format!("more than {MAX_CLIENTS} plug-ins in one session")));
        }
        let base = CLIENT_STEP * self.clients.len() as u64;
        Ok(self.clients.entry(client.to_owned()).or_insert_with(|| Client { base, ..Client::default() }).acknowledged)
    }

    /// Takes in round trips of a client's clock.
    pub fn clock(&mut self, client: &str, trips: &[RoundTrip]) -> Result<()> {
        self.client(client)?.clock.report(trips);
        Ok(())
    }

    /// Stores events that are not stored yet; the last `seq` stored.
    ///
    /// Everything is flushed before it is acknowledged, so that a killed recorder has lost nothing that a plug-in forgot.
    pub fn events(&mut self, client: &str, events: Vec<Event>) -> Result<u64> {
        if events.len() > MAX_EVENTS {
            return Err(Error::Protocol(format!("more than {MAX_EVENTS} events in one message")));
        }
        for e in events {
            if e.seq <= self.client(client)?.acknowledged {
                continue;
            }
            let (t_ns, error_ns) = self.time(client, e.client_ns)?;
            let c = self.client(client)?;
            c.last_event_ns = t_ns.max(c.last_event_ns);
            let (seq, t_ns) = (c.base.saturating_add(e.seq), c.last_event_ns);
            self.write(seq, t_ns, error_ns, e.what)?;
            self.client(client)?.acknowledged = e.seq;
        }
        self.flush()?;
        Ok(self.client(client)?.acknowledged)
    }

    /// Stores a file and its line in `renders.jsonl`.
    pub fn file(&mut self, client: &str, meta: FileMeta, bytes: &[u8]) -> Result<u64> {
        if meta.seq <= self.client(client)?.acknowledged {
            return Ok(self.client(client)?.acknowledged);
        }
        let bytes = &*without_metadata(bytes);
        let ext = meta.extension.to_ascii_lowercase();
        if ext.is_empty() || ext.len() > 8 || !ext.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(Error::Protocol("extension: 1 to 8 letters or digits".into()));
        }
        let (t_ns, error_ns) = self.time(client, meta.client_ns)?;
        let c = self.client(client)?;
        c.last_file_ns = t_ns.max(c.last_file_ns);
        let (t_ns, base) = (c.last_file_ns, c.base);
        self.files += 1;
        let rel = match meta.kind {
            RenderKind::Render => format!("renders/{:06}.{ext}", self.files),
            RenderKind::State => format!("states/{:06}.{ext}", self.files),
            RenderKind::Final if self.dir.path().join(format!("final.{ext}")).exists() => format!("final-{}.{ext}", self.files),
            RenderKind::Final => format!("final.{ext}"),
        };
        let path = self.dir.path().join(&rel);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(redline_schemas::Error::io(parent, "could not create the folder"))?;
        }
        fsio::write_atomic(&path, bytes)?;
        let line = RenderEvent {
            t_ns,
            kind: meta.kind,
            path: rel,
            sha256: fsio::sha256_bytes(bytes),
            after_command: meta.after_command.map(|s| base.saturating_add(s)),
            seq: base.saturating_add(meta.seq),
            error_ns,
        };
        writer(&mut self.renders, &self.dir.renders())?.write(&line)?;
        self.flush()?;
        self.client(client)?.acknowledged = meta.seq;
        Ok(meta.seq)
    }

    /// Events that plug-ins had to drop.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Hands all lines to the system.
    pub fn flush(&mut self) -> Result<()> {
        if let Some(w) = &mut self.selections {
            w.flush()?;
        }
        if let Some(w) = &mut self.commands {
            w.flush()?;
        }
        if let Some(w) = &mut self.renders {
            w.flush()?;
        }
        Ok(())
    }

    fn client(&mut self, client: &str) -> Result<&mut Client> {
        self.clients.get_mut(client).ok_or_else(|| Error::Protocol("unknown client: say hello first".into()))
    }

    fn time(&mut self, client: &str, client_ns: i64) -> Result<(i64, i64)> {
        self.client(client)?
            .clock
            .session_time(client_ns)
            .ok_or_else(|| Error::Protocol("no clock yet: post round trips to /v1/clock first".into()))
    }

    fn write(&mut self, seq: u64, t_ns: i64, error_ns: i64, what: What) -> Result<()> {
        match what {
            What::Selection { kind, entity, point, viewport, set } => {
                let line = SelectionEvent { t_ns, kind, entity, point, viewport, set, seq, error_ns };
                writer(&mut self.selections, &self.dir.selections())?.write(&line)?;
            }
            What::Command { kind, command_id, name, parameters } => {
                let line = CommandEvent { t_ns, kind, command_id, name, parameters, seq, error_ns };
                writer(&mut self.commands, &self.dir.commands())?.write(&line)?;
            }
            What::Lost { count } => {
                self.lost += count;
                tracing::warn!("the CAD plug-in had to drop {count} events");
            }
        }
        Ok(())
    }
}

/// The stream's writer, made when first needed.
fn writer<'a, T: serde::Serialize>(slot: &'a mut Option<jsonl::Writer<T>>, path: &std::path::Path) -> Result<&'a mut jsonl::Writer<T>> {
    let w = match slot.take() {
        Some(w) => w,
        None => jsonl::Writer::create(path)?,
    };
    Ok(slot.insert(w))
}

#[cfg(test)]
mod tests {
    use super::*;
    use redline_schemas::{CommandKind, SelectionKind};

    fn sink() -> (tempfile::TempDir, Sink) {
        let dir = tempfile::tempdir().unwrap();
        let mut s = Sink::new(SessionDir::new(dir.path()));
        s.hello("client-1").unwrap();
        s.clock("client-1", &[RoundTrip { sent_client_ns: 0, t_ns: 1_000_010, received_client_ns: 20 }]).unwrap();
        (dir, s)
    }

    fn command(seq: u64) -> Event {
        let what = What::Command { kind: CommandKind::Started, command_id: Some(format!("c{seq}")), name: None, parameters: None };
        Event { seq, client_ns: seq as i64 * 100, what }
    }

    #[test]
    fn events_that_come_twice_are_stored_once_in_session_time() {
        let (dir, mut s) = sink();
        assert_eq!(s.events("client-1", vec![command(1), command(2)]).unwrap(), 2);
        assert_eq!(s.events("client-1", vec![command(1), command(2), command(3)]).unwrap(), 3);
        assert_eq!(s.hello("client-1").unwrap(), 3, "after a reconnect the plug-in goes on after 3");
        let (lines, torn) = jsonl::read_all::<CommandEvent>(&SessionDir::new(dir.path()).commands()).unwrap();
        assert_eq!(torn, None);
        assert_eq!(
            lines.iter().map(|c| (c.seq, c.t_ns, c.error_ns)).collect::<Vec<_>>(),
            [(1, 1_000_100, 10), (2, 1_000_200, 10), (3, 1_000_300, 10)]
        );
    }

    #[test]
    fn unknown_clients_and_unmapped_clocks_are_refused() {
        let (_dir, mut s) = sink();
        assert!(s.events("client-2", vec![command(1)]).is_err());
        s.hello("client-2").unwrap();
        assert!(s.events("client-2", vec![command(1)]).unwrap_err().to_string().contains("/v1/clock"));
        for bad in ["", "short", "../../../etc", &"x".repeat(65)] {
            assert!(s.hello(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn files_land_in_their_folder_with_their_hash() {
        let (dir, mut s) = sink();
        let meta = |seq, kind, ext: &str| FileMeta { kind, seq, client_ns: 500, after_command: Some(1), extension: ext.into() };
        s.file("client-1", meta(5, RenderKind::Render, "png"), b"abc").unwrap();
        s.file("client-1", meta(5, RenderKind::Render, "png"), b"abc").unwrap();
        s.file("client-1", meta(6, RenderKind::State, "step"), b"s").unwrap();
        assert!(s.file("client-1", meta(7, RenderKind::State, "../x"), b"s").is_err());
        let (lines, _) = jsonl::read_all::<RenderEvent>(&SessionDir::new(dir.path()).renders()).unwrap();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].path, "renders/000001.png");
        assert_eq!(lines[0].sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(std::fs::read(dir.path().join(&lines[1].path)).unwrap(), b"s");
    }

    #[test]
    fn a_program_that_died_and_came_back_gets_numbers_of_its_own() {
        let (dir, mut s) = sink();
        s.events("client-1", vec![command(1)]).unwrap();
        s.hello("client-2").unwrap();
        s.clock("client-2", &[RoundTrip { sent_client_ns: 0, t_ns: 2_000_010, received_client_ns: 20 }]).unwrap();
        assert_eq!(s.events("client-2", vec![command(1)]).unwrap(), 1);
        let (lines, _) = jsonl::read_all::<CommandEvent>(&SessionDir::new(dir.path()).commands()).unwrap();
        assert_eq!(lines.iter().map(|c| (c.seq, c.t_ns)).collect::<Vec<_>>(), [(1, 1_000_100), (1_000_000_001, 2_000_100)]);
    }

    #[test]
    fn a_better_clock_measurement_does_not_turn_events_round() {
        let (dir, mut s) = sink();
        s.events("client-1", vec![command(5)]).unwrap();
        // Now known to 1 ns, and 9 ns earlier.
        s.clock("client-1", &[RoundTrip { sent_client_ns: 600, t_ns: 1_000_592, received_client_ns: 602 }]).unwrap();
        let e = Event { client_ns: 505, ..command(6) };
        s.events("client-1", vec![e]).unwrap();
        let (lines, _) = jsonl::read_all::<CommandEvent>(&SessionDir::new(dir.path()).commands()).unwrap();
        assert_eq!(lines.iter().map(|c| c.t_ns).collect::<Vec<_>>(), [1_000_500, 1_000_500]);
    }

    #[test]
    fn selections_keep_their_entity() {
        let (dir, mut s) = sink();
        let entity = redline_schemas::Entity { kind: "face".into(), id: "Face7".into(), path: Some("Body/Pad".into()), document: None };
        let what = What::Selection {
            kind: SelectionKind::Added,
            entity: Some(entity.clone()),
            point: Some([1.0, 2.0, 3.0]),
            viewport: None,
            set: vec![entity.clone()],
        };
        s.events("client-1", vec![Event { seq: 1, client_ns: 0, what }]).unwrap();
        let (lines, _) = jsonl::read_all::<SelectionEvent>(&SessionDir::new(dir.path()).selections()).unwrap();
        assert_eq!(lines[0].entity.as_ref(), Some(&entity));
    }
}
