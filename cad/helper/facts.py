"""Runs inside FreeCAD without a window: facts and a mesh of one STEP file, for Redline.

REDLINE_STEP is the file, REDLINE_OUT a folder that gets facts.json and mesh.bin (when there is a shape).
"""

import array
import json
import os
import struct
import sys

FINENESS = 0.0015  # of the bounding box's diagonal


def facts(shape):
    solids, shells = shape.Solids, shape.Shells
    problems = []
    if not solids:
        problems.append("it holds no solid")
    open_shells = sum(1 for s in shells if not s.isClosed())
    if open_shells:
        problems.append("%d of its shells are open" % open_shells)
    if not shape.isValid():
        problems.append("the kernel's check finds broken geometry or topology")
    if any(s.Volume <= 0 for s in solids):
        problems.append("a solid has no positive volume")
    try:
        # FreeCAD 0.20 refuses the second argument; the plain box is too large around rounded faces.
        box = shape.optimalBoundingBox(False)
    except Exception:
        box = shape.BoundBox
    return {
        "valid": not problems,
        "problems": problems,
        "closed": bool(solids) and not open_shells and len(shape.Faces) <= sum(len(s.Faces) for s in solids),
        "counts": {"bodies": len(solids), "faces": len(shape.Faces), "edges": len(shape.Edges), "vertices": len(shape.Vertexes)},
        "bounding_box": {"min": [box.XMin, box.YMin, box.ZMin], "max": [box.XMax, box.YMax, box.ZMax]},
        "volume": sum(s.Volume for s in solids),
        "area": shape.Area,
    }


def mesh(shape, path):
    fine = max(shape.BoundBox.DiagonalLength * FINENESS, 1e-6)
    points, triangles, line_points, line_lengths, seams = array.array("f"), array.array("I"), array.array("f"), array.array("I"), set()
    for face in shape.Faces:
        try:
            corners, faces = face.tessellate(fine)
        except Exception:
            continue
        first = len(points) // 3
        for p in corners:
            points.extend((p.x, p.y, p.z))
        for t in faces:
            triangles.extend(first + i for i in t)
        for e in face.Edges:
            if e.isSeam(face):
                seams.add(e.hashCode())
    for edge in shape.Edges:
        if edge.hashCode() in seams:
            continue
        try:
            line = edge.discretize(Deflection=fine)
        except Exception:
            continue
        for p in line:
            line_points.extend((p.x, p.y, p.z))
        line_lengths.append(len(line))
    with open(path, "wb") as f:
        f.write(struct.pack("<4sIIII", b"RLM1", len(points) // 3, len(triangles) // 3, len(line_points) // 3, len(line_lengths)))
        for a in (points, triangles, line_points, line_lengths):
            if sys.byteorder == "big":
                a.byteswap()
            f.write(a.tobytes())


def main():
    import FreeCAD
    import Part

    out = os.environ["REDLINE_OUT"]
    result = {"kernel": "FreeCAD %s, OpenCASCADE %s" % (".".join(FreeCAD.Version()[:3]), Part.OCC_VERSION)}
    try:
        shape = Part.Shape()
        shape.read(os.environ["REDLINE_STEP"])
        if shape.isNull() or not shape.Faces:
            raise ValueError("it holds no solid and no surface")
        result["facts"] = facts(shape)
        mesh(shape, os.path.join(out, "mesh.bin"))
    except Exception as e:
        # FreeCAD puts its own words into a dictionary.
        said = e.args[0] if e.args else None
        result["error"] = (said.get("sErrMsg") if isinstance(said, dict) else None) or str(e) or type(e).__name__
    # Last, and in one step: without this file the helper has failed.
    with open(os.path.join(out, "facts.json.new"), "w") as f:
        json.dump(result, f)
    os.rename(os.path.join(out, "facts.json.new"), os.path.join(out, "facts.json"))


try:
    main()
finally:
    # FreeCAD would go on to its console.
    sys.stdout.flush()
    os._exit(0)
