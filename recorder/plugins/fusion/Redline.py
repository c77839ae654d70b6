"""Fusion add-in: tells Redline's bridge what happens. Thin on purpose; see README.md for what was never tried."""

import os
import shutil
import sys
import tempfile
import threading
import time

import adsk.core
import adsk.fusion

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from redline_client import Client  # noqa: E402

TICK_EVENT = "RedlineTick"
TICK_S = 0.25
RENDER_SIZE = (1280, 720)
KINDS = {
    "BRepFace": "face",
    "BRepEdge": "edge",
    "BRepVertex": "vertex",
    "BRepBody": "body",
    "Occurrence": "component",
    "Sketch": "sketch",
}
# Commands that come with every click and say nothing.
DULL_COMMANDS = {"SelectCommand", "CommitCommand"}


def entity(thing):
    """What Fusion selected, as the bridge's entity."""
    kind = KINDS.get(type(thing).__name__) or KINDS.get(getattr(thing, "objectType", "").split("::")[-1], "other")
    token = getattr(thing, "entityToken", None) or getattr(thing, "name", "")
    path = []
    context = getattr(thing, "assemblyContext", None)
    if context is not None:
        path.append(context.fullPathName)
    body = getattr(thing, "body", None)
    if body is not None:
        path.append(body.name)
    return {"kind": kind, "id": str(token), "path": "/".join(path) or None}


class Handlers:
    """Fusion keeps no reference to an event handler; this does."""

    def __init__(self):
        self._kept = []

    def add(self, event, base, notify):
        handler = type("Handler", (base,), {"notify": lambda _self, args: quietly(notify, args)})()
        event.add(handler)
        self._kept.append((event, handler))

    def remove_all(self):
        for event, handler in self._kept:
            event.remove(handler)
        self._kept.clear()


def quietly(f, *args):
    try:
        f(*args)
    except Exception as e:  # the host must never see an error of ours
        app = adsk.core.Application.get()
        app.log("Redline: %s" % e)


class Watcher:
    """Hands on what Fusion's events say; renders and states are made in its main thread, on a tick."""

    def __init__(self, app):
        self._app = app
        self._folder = tempfile.mkdtemp(prefix="redline-")
        self.client = Client("Fusion", app.version, log=app.log)
        self.client.on_session = self._session_begins
        self._changed = False
        self._render_wanted = False
        self._last_render = 0.0
        self._last_command_seq = None
        self._handlers = Handlers()
        ui = app.userInterface
        core = adsk.core
        self._handlers.add(ui.activeSelectionChanged, core.ActiveSelectionEventHandler, self.selection)
        self._handlers.add(ui.commandStarting, core.ApplicationCommandEventHandler, self.command_starting)
        self._handlers.add(ui.commandTerminated, core.ApplicationCommandEventHandler, self.command_terminated)
        self._handlers.add(app.cameraChanged, core.CameraEventHandler, self.camera)
        self._handlers.add(app.documentSaved, core.DocumentEventHandler, self.saved)
        self._tick_event = app.registerCustomEvent(TICK_EVENT)
        self._handlers.add(self._tick_event, core.CustomEventHandler, self.tick)
        self._stopped = threading.Event()
        self._ticker = threading.Thread(target=self._tick_on, name="redline-tick", daemon=True)
        self.client.start()
        self._ticker.start()

    def stop(self):
        self._stopped.set()
        self._handlers.remove_all()
        self._app.unregisterCustomEvent(TICK_EVENT)
        self.client.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _tick_on(self):
        while not self._stopped.wait(TICK_S):
            self._app.fireCustomEvent(TICK_EVENT)

    def _session_begins(self):
        self._changed = True
        self._last_command_seq = None

    def selection(self, args):
        chosen = [entity(s.entity) for s in args.currentSelection]
        if chosen:
            self.client.event("selection", kind="added", entity=chosen[-1], set=chosen)
        else:
            self.client.event("selection", kind="cleared", set=[])

    def command_starting(self, args):
        if args.commandId not in DULL_COMMANDS:
            self.client.event("command", kind="started", command_id=args.commandId, name=args.commandDefinition.name)

    def command_terminated(self, args):
        if args.commandId in DULL_COMMANDS:
            return
        done = args.terminationReason == adsk.core.CommandTerminationReason.CompletedTerminationReason
        kind = "ended" if done else "cancelled"
        seq = self.client.event("command", kind=kind, command_id=args.commandId, name=args.commandDefinition.name)
        self._render_wanted = True
        if done:
            self._changed = True
            self._last_command_seq = seq or self._last_command_seq

    def camera(self, args):
        camera = args.viewport.camera
        parameters = {name: [getattr(camera, name).x, getattr(camera, name).y, getattr(camera, name).z] for name in ("eye", "target", "upVector")}
        self.client.event("command", kind="camera", parameters=parameters)
        self._render_wanted = True

    def saved(self, args):
        self.client.event("command", kind="saved", parameters={"document": args.document.name})

    def tick(self, _args):
        if not self.client.active:
            return
        if self.client.closing:
            self._render()
            self._export("final")
            self.client.goodbye()
            return
        due = time.monotonic() - self._last_render >= self.client.render_interval_s
        if due and (self._render_wanted or self._changed):
            changed, self._changed, self._render_wanted = self._changed, False, False
            self._render()
            if changed and self.client.wants_states:
                self._export("state")

    def _render(self):
        path = os.path.join(self._folder, "render.png")
        at = time.monotonic_ns()
        if self._app.activeViewport and self._app.activeViewport.saveAsImageFile(path, *RENDER_SIZE):
            with open(path, "rb") as f:
                self.client.file("render", "png", f.read(), at, self._last_command_seq)
        self._last_render = time.monotonic()

    def _export(self, kind):
        design = adsk.fusion.Design.cast(self._app.activeProduct)
        if design is None:
            return
        path = os.path.join(self._folder, "state.step")
        at = time.monotonic_ns()
        options = design.exportManager.createSTEPExportOptions(path, design.rootComponent)
        if design.exportManager.execute(options):
            with open(path, "rb") as f:
                self.client.file(kind, "step", f.read(), at, self._last_command_seq)


_watcher = None


def run(context):
    global _watcher
    if _watcher is None:
        _watcher = Watcher(adsk.core.Application.get())


def stop(context):
    global _watcher
    if _watcher is not None:
        _watcher.stop()
        _watcher = None
