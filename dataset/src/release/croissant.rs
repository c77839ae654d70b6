//! `croissant.json`: the release for machines that read dataset descriptions.

use super::Manifest;
use crate::tables::{self, Column, Kind};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn context() -> Value {
    let terms = [
        "citeAs",
        "column",
        "extract",
        "field",
        "fileObject",
        "fileProperty",
        "fileSet",
        "format",
        "includes",
        "isLiveDataset",
        "jsonPath",
        "key",
        "md5",
        "parentField",
        "path",
        "recordSet",
        "references",
        "regex",
        "repeated",
        "replace",
        "separator",
        "source",
        "subField",
        "transform",
    ];
    let mut c: serde_json::Map<String, Value> = terms.iter().map(|t| ((*t).into(), format!("cr:{t}").into())).collect();
    for (k, v) in [
        ("@language", json!("en")),
        ("@vocab", json!("https://schema.org/")),
        ("conformsTo", json!("dct:conformsTo")),
        ("cr", json!("http://mlcommons.org/croissant/")),
        ("dct", json!("http://purl.org/dc/terms/")),
        ("sc", json!("https://schema.org/")),
        ("data", json!({"@id": "cr:data", "@type": "@json"})),
        ("dataType", json!({"@id": "cr:dataType", "@type": "@vocab"})),
        ("examples", json!({"@id": "cr:examples", "@type": "@json"})),
    ] {
        c.insert(k.into(), v);
    }
    Value::Object(c)
}

fn data_type(k: Kind) -> &'static str {
    match k {
        // Of a media file the path, see `field`.
        Kind::Id | Kind::Label | Kind::Text | Kind::Json | Kind::Media(_) => "sc:Text",
        Kind::Int | Kind::Time => "sc:Integer",
        Kind::Utc => "sc:DateTime",
        Kind::Float => "sc:Float",
        Kind::Bool => "sc:Boolean",
    }
}

fn field(id: &str, file: &str, c: &Column) -> Value {
    let unit = c.unit.map(|u| format!(" Unit: {u}.")).unwrap_or_default();
    let mut source = json!({"fileObject": {"@id": file}, "extract": {"column": c.name}});
    let mut description = format!("{}{unit}", c.doc);
    if let Kind::Media(_) = c.kind {
        // The column is a struct of bytes and path, the bytes left out.
        source["transform"] = json!({"jsonPath": "path"});
        description += " Path of the file, relative to the dataset's folder.";
    }
    json!({
        "@type": "cr:Field", "@id": format!("{id}/{}", c.name), "name": c.name, "description": description,
        "dataType": data_type(c.kind), "source": source,
    })
}

/// The description; `sums` gives each file's SHA-256.
pub(super) fn croissant(m: &Manifest, sums: &BTreeMap<String, String>) -> Value {
    let one_split = m.splits.len() == 1;
    let (mut files, mut sets) = (Vec::new(), Vec::new());
    for split in &m.splits {
        for t in &split.tables {
            let path = format!("tables/{}/{}", split.name, crate::pack::file_name(&t.name));
            let id = if one_split { t.name.clone() } else { format!("{}-{}", split.name, t.name) };
            let file = format!("{id}.parquet");
            files.push(json!({
                "@type": "cr:FileObject", "@id": file, "name": file, "contentUrl": path,
                "contentSize": format!("{} B", t.bytes), "encodingFormat": "application/x-parquet", "sha256": sums.get(&path),
            }));
            let Some(table) = tables::by_name(&t.name) else { continue };
            let fields: Vec<Value> = table.columns.iter().map(|c| field(&id, &file, c)).collect();
            sets.push(json!({"@type": "cr:RecordSet", "@id": id, "name": id, "description": table.doc, "field": fields}));
        }
    }
    json!({
        "@context": context(),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": m.name,
        "description": m.description(),
        "version": m.version,
        "license": format!("https://spdx.org/licenses/{}.html", m.licence),
        "url": format!("https://spdx.org/licenses/{}.html", m.licence),
        "datePublished": m.created_utc.format("%Y-%m-%d").to_string(),
        "citeAs": format!("{} {}", m.name, m.version),
        "creator": {"@type": "sc:Organization", "name": format!("The makers of {}", m.name)},
        "distribution": files,
        "recordSet": sets,
    })
}
