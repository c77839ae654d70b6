"""The Fusion add-in against a stand-in for `adsk`: shows that it is whole, not that Fusion behaves like this."""

import os
import sys
import tempfile
import time
import types
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "common"), os.path.join(HERE, "..", "fusion")]

from fake_bridge import FakeBridge  # noqa: E402


class Event:
    def __init__(self):
        self.handlers = []

    def add(self, handler):
        self.handlers.append(handler)

    def remove(self, handler):
        self.handlers.remove(handler)

    def fire(self, **args):
        for h in list(self.handlers):
            h.notify(types.SimpleNamespace(**args))


class BRepFace:
    entityToken = "token-7"
    assemblyContext = None
    body = types.SimpleNamespace(name="Body1")


def stand_in():
    core, fusion = types.ModuleType("adsk.core"), types.ModuleType("adsk.fusion")
    for base in ("ActiveSelectionEventHandler", "ApplicationCommandEventHandler", "CameraEventHandler", "DocumentEventHandler", "CustomEventHandler"):
        setattr(core, base, type(base, (), {}))
    core.CommandTerminationReason = types.SimpleNamespace(CompletedTerminationReason=1, CancelledTerminationReason=2)

    def write(path, data):
        with open(path, "wb") as f:
            f.write(data)
        return True

    export = types.SimpleNamespace(
        createSTEPExportOptions=lambda path, component: path,
        execute=lambda path: write(path, b"ISO-10303-21;"),
    )
    design = types.SimpleNamespace(exportManager=export, rootComponent=object())
    fusion.Design = types.SimpleNamespace(cast=lambda product: product)
    ui = types.SimpleNamespace(activeSelectionChanged=Event(), commandStarting=Event(), commandTerminated=Event())
    app = types.SimpleNamespace(
        version="2.0", userInterface=ui, cameraChanged=Event(), documentSaved=Event(), activeProduct=design, log=lambda text: None,
        activeViewport=types.SimpleNamespace(saveAsImageFile=lambda path, w, h: write(path, b"png")), custom=Event(),
    )
    app.registerCustomEvent = lambda name: app.custom
    app.unregisterCustomEvent = lambda name: True
    # Here the tick runs in the ticking thread; in Fusion, in the main one.
    app.fireCustomEvent = lambda name: app.custom.fire()
    core.Application = types.SimpleNamespace(get=lambda: app)
    package = types.ModuleType("adsk")
    package.core, package.fusion = core, fusion
    return {"adsk": package, "adsk.core": core, "adsk.fusion": fusion}, app


class FusionTest(unittest.TestCase):
    def test_an_edit_from_selection_to_final_model(self):
        modules, app = stand_in()
        sys.modules.update(modules)
        with tempfile.TemporaryDirectory() as folder:
            os.environ["REDLINE_BRIDGE"] = os.path.join(folder, "bridge.json")
            b = FakeBridge(os.environ["REDLINE_BRIDGE"], wants_final=True)
            import Redline

            Redline.run({})
            try:
                watcher = Redline._watcher
                until = time.monotonic() + 20
                while not watcher.client.active:
                    self.assertLess(time.monotonic(), until)
                    time.sleep(0.005)
                definition = types.SimpleNamespace(name="Fillet")
                app.userInterface.activeSelectionChanged.fire(currentSelection=[types.SimpleNamespace(entity=BRepFace())])
                app.userInterface.commandStarting.fire(commandId="FusionFilletEdit", commandDefinition=definition)
                app.userInterface.commandTerminated.fire(commandId="FusionFilletEdit", commandDefinition=definition, terminationReason=1)
                app.userInterface.commandStarting.fire(commandId="SelectCommand", commandDefinition=definition)
                app.userInterface.activeSelectionChanged.fire(currentSelection=[])
                b.wait(lambda: len(b.events) == 4 and any(q["kind"] == "state" for q, _ in b.files))
                b.publish(closing=True)
                b.wait(lambda: b.byes)
            finally:
                Redline.stop({})
                b.stop()
                del os.environ["REDLINE_BRIDGE"]
        entity = b.events[0]["entity"]
        self.assertEqual((entity["kind"], entity["id"], entity["path"]), ("face", "token-7", "Body1"))
        self.assertEqual([e["kind"] for e in b.events], ["added", "started", "ended", "cleared"])
        self.assertEqual(b.events[2]["command_id"], "FusionFilletEdit")
        kinds = [q["kind"] for q, _ in b.files]
        self.assertEqual((kinds[0], kinds[-1]), ("render", "final"))
        self.assertEqual(app.userInterface.commandStarting.handlers, [], "stopping takes the handlers away")


if __name__ == "__main__":
    unittest.main()
