"""Makes bracket.step, the part of the demo and of the tests: pip install build123d, then run this here."""

from pathlib import Path

from build123d import *  # noqa: F403
with BuildPart() as part:
    with BuildSketch(Plane.XZ) as profile:
        with BuildLine():
            Polyline((0, 0), (80, 0), (80, 12), (12, 12), (12, 60), (0, 60), close=True)
        make_face()
    extrude(amount=50)
    inner = part.edges().filter_by(Axis.Y).filter_by(lambda e: abs(e.center().X - 12) < 1e-6 and abs(e.center().Z - 12) < 1e-6)
    fillet(inner, radius=8)
    corners = part.edges().filter_by(Axis.Z).filter_by(lambda e: abs(e.center().X - 80) < 1e-6)
    fillet(corners, radius=10)
    with Locations((50, -25, 12)):
        CounterBoreHole(radius=6, counter_bore_radius=10, counter_bore_depth=4)
    with Locations(Plane(origin=(12, -25, 42), x_dir=(0, 1, 0), z_dir=(1, 0, 0))):
        with GridLocations(26, 0, 2, 1):
            Hole(radius=4)
part.part.label = "Bracket"
export_step(part.part, Path(__file__).with_name("bracket.step"), timestamp="2026-01-01T00:00:00")
