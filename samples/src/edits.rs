//! Edits: commands, selections, the pointer, renders and the result. They have no video.

use crate::requests::{clock, face, pointer, request_id};
use crate::{Chance, Result, Stock, cell, make_dir, metrics, person, started, stream, write};
use redline_schemas::time::NS_PER_S;
use redline_schemas::{
    CommandEvent, CommandKind, Difficulty, EditId, EditManifest, FORMAT_VERSION, Rating, Ratings, RenderEvent, RenderKind, SelectionEvent,
    SelectionKind, Session, SessionDir, Status, Streams, Tool, fsio,
};

const COMMANDS: [(&str, &str); 8] = [
    ("PartDesign_Pad", "Pad"),
    ("PartDesign_Pocket", "Pocket"),
    ("PartDesign_Hole", "Hole"),
    ("PartDesign_Fillet", "Fillet"),
    ("PartDesign_Chamfer", "Chamfer"),
    ("PartDesign_Mirrored", "Mirrored"),
    ("Sketcher_NewSketch", "New sketch"),
    ("Std_ViewFitAll", "Fit all"),
];

/// Event `i` of `n` over a session.
fn at(duration_ns: i64, i: u64, n: u64) -> i64 {
    (i128::from(duration_ns) * i128::from(i) / i128::from(n.max(1))) as i64
}

fn edit_id(i: u64) -> Result<EditId> {
    Ok(EditId::new(format!("E{:05}", i + 1))?)
}

/// Makes edit `i`; how many events and renders there are.
pub(crate) fn make(s: &Stock<'_>, i: u64, events: u64, renders: u64) -> Result<(u64, u64)> {
    let each = u64::from(s.size.edits_per_request);
    let (request, nth) = (i / each, i % each);
    let (_, difficulty) = cell(request);
    let id = edit_id(i)?;
    let dir = s.corpus.edit_dir(&id);
    make_dir(&dir.path().join("renders"))?;
    let mut chance = Chance::new(i + 1_000_000);
    // Around the guide time: half to one and a half of it.
    let guide = match difficulty {
        Difficulty::Easy => 120.0,
        Difficulty::Medium => 300.0,
        Difficulty::Hard => 600.0,
    };
    let duration_ns = (guide * (0.5 + chance.unit()) * NS_PER_S as f64) as i64;

    let (commands, picks) = (events * 6 / 10, events / 10);
    let moves = events - commands - picks;
    let command = |n: u64| {
        let (id, name) = *chance.pick(&COMMANDS);
        CommandEvent {
            t_ns: at(duration_ns, n, commands),
            kind: if n.is_multiple_of(2) { CommandKind::Started } else { CommandKind::Ended },
            command_id: Some(id.into()),
            name: Some(name.into()),
            parameters: None,
            seq: n + 1,
            error_ns: 150_000,
        }
    };
    let commands: Vec<_> = (0..commands).map(command).collect();
    let pick = |n: u64| SelectionEvent {
        t_ns: at(duration_ns, n, picks),
        kind: SelectionKind::Added,
        entity: Some(face(&mut chance)),
        point: None,
        viewport: None,
        set: Vec::new(),
        seq: n + 1,
        error_ns: 150_000,
    };
    let picks: Vec<_> = (0..picks).map(pick).collect();
    let hashes: Vec<String> = s.pictures.iter().map(|p| fsio::sha256_bytes(p)).collect();
    let mut shots = Vec::new();
    for n in 0..renders {
        let k = ((i + n) as usize) % s.pictures.len();
        let path = format!("renders/{:05}.png", n + 1);
        write(&dir.path().join(&path), &s.pictures[k])?;
        shots.push(RenderEvent {
            t_ns: at(duration_ns, n, renders),
            kind: RenderKind::Render,
            path,
            sha256: hashes[k].clone(),
            after_command: None,
            seq: n + 1,
            error_ns: 150_000,
        });
    }
    let result = dir.path().join("final.step");
    write(&result, metrics::block(i).as_bytes())?;

    let streams = Streams {
        commands: stream(&dir, &dir.commands(), &commands)?,
        selections: stream(&dir, &dir.selections(), &picks)?,
        input: stream(&dir, &dir.input(), &pointer(&mut chance, moves, duration_ns))?,
        renders: stream(&dir, &dir.renders(), &shots)?,
        ..Streams::default()
    };
    let manifest = EditManifest {
        format_version: FORMAT_VERSION,
        id,
        request: request_id(request)?,
        // The requestor first, then others.
        participant: person(request + nth)?,
        status: Status::Complete,
        rejection: None,
        session: Session { clock: clock(request * 4 + 1 + nth), duration_ns, screen: None, streams },
        started_ns: Some(0),
        stopped_ns: Some(duration_ns),
        final_model: Some(dir.file_ref(&result)?),
        usage: None,
        imported_from: None,
        tool: Tool::redline(),
    };
    fsio::write_json(&dir.edit_json(), &manifest)?;
    ratings(&dir, &manifest.id, request + nth, &mut chance)?;
    let own = i - nth;
    let reference = if nth == 0 { None } else { Some((own, edit_id(own)?)) };
    metrics::write(&dir, &manifest.id, i, reference)?;
    Ok((events, renders))
}

/// Five raters an edit, none of them its editor.
fn ratings(dir: &SessionDir, edit: &EditId, editor: u64, chance: &mut Chance) -> Result<()> {
    let mut one = |k| {
        Ok(Rating {
            rater: person(editor + k)?,
            instruction_following: 3 + chance.below(5) as u8,
            quality: 3 + chance.below(5) as u8,
            comment: None,
            rated_utc: Some(started(editor * 4 + 3)),
        })
    };
    let ratings = (1..=5).map(&mut one).collect::<Result<_>>()?;
    let all = Ratings { format_version: FORMAT_VERSION, edit: edit.clone(), ratings, tool: Tool::redline() };
    Ok(fsio::write_json(&dir.ratings_path(), &all)?)
}
