//! Views that every database has.

/// Name and SQL.
pub const ALL: &[(&str, &str)] = &[("pointing", POINTING)];

/// A row a spoken word: where the mouse was when it began (the last event before), what the CAD program
/// highlighted or selected last before its end, how much was drawn and selected while it was said.
///
/// Sorted timelines with a running last value instead of a join of every word with every event.
const POINTING: &str = "
WITH pointer AS (
  SELECT request_id, transcript, word, x, y, vx, vy, pointer_t_ns FROM (
    SELECT request_id, transcript, word,
      last_value(x) IGNORE NULLS OVER w AS x, last_value(y) IGNORE NULLS OVER w AS y,
      last_value(vx) IGNORE NULLS OVER w AS vx, last_value(vy) IGNORE NULLS OVER w AS vy,
      last_value(e_t_ns) IGNORE NULLS OVER w AS pointer_t_ns
    FROM (
      SELECT session_id AS request_id, CAST(NULL AS VARCHAR) AS transcript, CAST(NULL AS BIGINT) AS word,
        t_ns, 0 AS is_word, x, y, vx, vy, t_ns AS e_t_ns
      FROM events WHERE session = 'request' AND x IS NOT NULL
      UNION ALL
      SELECT request_id, CAST(transcript AS VARCHAR), word, start_ns, 1, NULL, NULL, NULL, NULL, NULL FROM words
    )
    WINDOW w AS (PARTITION BY request_id ORDER BY t_ns, is_word ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
  ) WHERE word IS NOT NULL
),
entity AS (
  SELECT request_id, transcript, word, entity_kind, entity_id, entity_path FROM (
    SELECT request_id, transcript, word,
      last_value(entity_kind) IGNORE NULLS OVER w AS entity_kind, last_value(entity_id) IGNORE NULLS OVER w AS entity_id,
      last_value(entity_path) IGNORE NULLS OVER w AS entity_path
    FROM (
      SELECT session_id AS request_id, CAST(NULL AS VARCHAR) AS transcript, CAST(NULL AS BIGINT) AS word,
        t_ns, 0 AS is_word, CAST(entity_kind AS VARCHAR) AS entity_kind, entity_id, entity_path
      FROM selections WHERE session = 'request' AND kind IN ('added', 'preselected')
      UNION ALL
      SELECT request_id, CAST(transcript AS VARCHAR), word, end_ns, 1, NULL, NULL, NULL FROM words
    )
    WINDOW w AS (PARTITION BY request_id ORDER BY t_ns, is_word ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
  ) WHERE word IS NOT NULL
),
drawn AS (
  SELECT w.request_id, w.transcript, w.word, count(DISTINCT s.stroke) AS strokes
  FROM words w JOIN strokes s ON s.session_id = w.request_id AND s.t_ns BETWEEN w.start_ns AND w.end_ns AND s.kind <> 'vanish'
  GROUP BY w.request_id, w.transcript, w.word
),
picked AS (
  SELECT w.request_id, w.transcript, w.word, count(*) AS selections
  FROM words w JOIN selections s ON s.session_id = w.request_id AND s.t_ns BETWEEN w.start_ns AND w.end_ns
  GROUP BY w.request_id, w.transcript, w.word
)
SELECT w.request_id, w.transcript, w.word, w.text, w.start_ns, w.end_ns,
  p.x, p.y, p.vx, p.vy, p.pointer_t_ns, e.entity_kind, e.entity_id, e.entity_path,
  coalesce(d.strokes, 0) AS strokes, coalesce(k.selections, 0) AS selections
FROM words w
JOIN pointer p ON p.request_id = w.request_id AND p.transcript = w.transcript AND p.word = w.word
JOIN entity e ON e.request_id = w.request_id AND e.transcript = w.transcript AND e.word = w.word
LEFT JOIN drawn d ON d.request_id = w.request_id AND d.transcript = w.transcript AND d.word = w.word
LEFT JOIN picked k ON k.request_id = w.request_id AND k.transcript = w.transcript AND k.word = w.word
";
