"""Watches FreeCAD and tells Redline's bridge. Needs nothing of the user.

Commands are seen twice: the menu or toolbar action that was triggered (its Qt object name is the command's id), and the
document transaction that the command opens, commits or aborts. One command gives one `started` and one `ended` or
`cancelled`, in this order.
"""

import os
import tempfile
import time

import FreeCAD as App
import FreeCADGui as Gui
import Import
from PySide2 import QtCore, QtWidgets

from redline_client import Client

RENDER_SIZE = (1280, 720)
POLL_MS = 100
ENTITY_KINDS = {"Face": "face", "Edge": "edge", "Vertex": "vertex"}


def entity(document, obj_name, sub):
    """What FreeCAD names by document, object and sub-element, as the bridge's entity."""
    last = (sub or "").split(".")[-1]
    kind = next((k for prefix, k in ENTITY_KINDS.items() if last.startswith(prefix) and last[len(prefix):].isdigit()), None)
    doc = App.getDocument(document) if document in App.listDocuments() else None
    obj = doc.getObject(obj_name) if doc else None
    if kind is None:
        kind = "body" if obj is not None and obj.isDerivedFrom("PartDesign::Body") else "feature"
        last = obj_name
    path = [p.Label for p in reversed(obj.InListRecursive) if p.hasExtension("App::GroupExtension") or p.isDerivedFrom("PartDesign::Body") or p.isDerivedFrom("App::Part")] if obj else []
    path.append(obj.Label if obj else obj_name)
    return {"kind": kind, "id": last, "path": "/".join(path), "document": doc.Label if doc else document}


class SelectionObserver:
    """Gui observer: selection and preselection with the picked point."""

    def __init__(self, watcher):
        self._w = watcher

    def addSelection(self, doc, obj, sub, point):
        self._w.selection("added", entity(doc, obj, sub), point)

    def removeSelection(self, doc, obj, sub):
        self._w.selection("removed", entity(doc, obj, sub))

    def setSelection(self, doc):
        self._w.selection_set()

    def clearSelection(self, doc):
        self._w.selection("cleared", None)

    def setPreselection(self, doc, obj, sub):
        self._w.selection("preselected", entity(doc, obj, sub))


class DocumentObserver:
    """App observer: transactions, changes, saving. The Gui wants a class of its own."""

    def __init__(self, watcher):
        self._w = watcher

    def slotOpenTransaction(self, doc, name):
        self._w.transaction_opened(name)

    def slotCommitTransaction(self, doc):
        self._w.transaction_closed("ended")

    def slotAbortTransaction(self, doc):
        self._w.transaction_closed("cancelled")

    def slotUndoDocument(self, doc):
        self._w.changed()

    def slotRedoDocument(self, doc):
        self._w.changed()

    def slotRecomputedDocument(self, doc):
        self._w.changed()

    def slotFinishSaveDocument(self, doc, name):
        self._w.client.event("command", kind="saved", parameters={"document": doc.Label})

    def slotActivateDocument(self, doc):
        self._w.client.set_document(doc.Label)


class Watcher:
    """Collects what the observers see and sends renders and model states when FreeCAD is idle."""

    def __init__(self):
        self.client = Client("FreeCAD", ".".join(App.Version()[:3]), log=lambda text: App.Console.PrintLog(text + "\n"))
        self._command = None
        self._in_transaction = False
        self._last_command_seq = None
        self._dirty = False
        self._changed_outside = False
        self._last_render = 0.0
        self._camera = None
        self._hooked = set()
        self._folder = tempfile.mkdtemp(prefix="redline-")
        self._selection_observer = SelectionObserver(self)
        self._document_observer = DocumentObserver(self)
        Gui.Selection.addObserver(self._selection_observer, 0)
        App.addDocumentObserver(self._document_observer)
        self.client.on_session = self._new_session
        self.client.start()
        self._timer = QtCore.QTimer()
        self._timer.timeout.connect(self._tick)
        self._timer.start(POLL_MS)

    def stop(self):
        self._timer.stop()
        Gui.Selection.removeObserver(self._selection_observer)
        App.removeDocumentObserver(self._document_observer)
        self.client.stop()

    # Selections.

    def selection(self, kind, what, point=None):
        fields = {"kind": kind}
        if kind != "preselected":
            fields["set"] = self._selected()
        if what:
            fields["entity"] = what
        if point is not None:
            fields["point"] = [float(c) for c in point]
            viewport = self._viewport_point(point)
            if viewport:
                fields["viewport"] = viewport
        self.client.event("selection", **fields)

    def selection_set(self):
        chosen = self._selected()
        for what in chosen:
            self.client.event("selection", kind="added", entity=what, set=chosen)

    @staticmethod
    def _selected():
        chosen = []
        for s in Gui.Selection.getSelectionEx("*"):
            subs = s.SubElementNames or [""]
            chosen.extend(entity(s.DocumentName, s.ObjectName, sub) for sub in subs)
        return chosen

    @staticmethod
    def _viewport_point(point):
        try:
            view = Gui.activeDocument().activeView()
            x, y = view.getPointOnScreen(App.Vector(*point))
            return [float(x), float(view.getSize()[1] - 1 - y)]
        except (AttributeError, RuntimeError, TypeError):
            return None

    # Commands.

    def triggered(self, action):
        # An action ends by itself unless it opens a transaction.
        self._finish("ended")
        self._command = (action.objectName(), action.text().replace("&", ""))
        self._send_command("started")
        QtCore.QTimer.singleShot(0, self._action_done)

    def _action_done(self):
        if self._command and not self._in_transaction:
            self._finish("ended")

    def transaction_opened(self, name):
        self._in_transaction = True
        if self._command is None:
            self._command = (None, name)
            self._send_command("started")

    def transaction_closed(self, kind):
        self._in_transaction = False
        self._finish(kind)
        self._dirty = True

    def changed(self):
        self._dirty = True
        if self._command is None and not self._in_transaction:
            self._changed_outside = True

    def _finish(self, kind):
        if self._command and not self._in_transaction:
            self._send_command(kind)
            self._command = None

    def _send_command(self, kind):
        ident, name = self._command
        fields = {"kind": kind, "name": name}
        if ident:
            fields["command_id"] = ident
        seq = self.client.event("command", **fields)
        if kind == "ended" and seq:
            self._last_command_seq = seq

    # Renders, states, camera: polled in the main thread, where alone the view may be read.

    def _new_session(self):
        self._dirty = True
        self._last_command_seq = None

    def _tick(self):
        try:
            self._hook_actions()
            if not self.client.active:
                return
            if self._changed_outside and self._command is None:
                self._changed_outside = False
                self.client.event("command", kind="changed", name="Recompute")
            moved = self._look_at_camera()
            due = time.monotonic() - self._last_render >= self.client.render_interval_s
            if self._dirty and not self._in_transaction:
                self._dirty = False
                self._render()
                self._state()
            elif moved and due:
                self._render()
        except Exception as e:  # the host must never see an error of ours
            App.Console.PrintLog("Redline: %s\n" % e)

    def _hook_actions(self):
        for action in Gui.getMainWindow().findChildren(QtWidgets.QAction):
            key = id(action)
            if key in self._hooked or "_" not in action.objectName():
                continue
            self._hooked.add(key)
            action.triggered.connect(lambda checked=False, a=action: self.triggered(a))

    def _look_at_camera(self):
        view = Gui.activeDocument().activeView() if Gui.activeDocument() else None
        if view is None or not hasattr(view, "getCamera"):
            return False
        camera = view.getCamera()
        if camera == self._camera:
            return False
        self._camera = camera
        placement = view.getCameraNode().position.getValue().getValue(), view.getCameraOrientation().Q
        self.client.event("command", kind="camera", parameters={"position": list(placement[0]), "quaternion": list(placement[1]), "type": view.getCameraType()})
        return True

    def _render(self):
        view = Gui.activeDocument().activeView() if Gui.activeDocument() else None
        if view is None or not hasattr(view, "saveImage"):
            return
        self._last_render = time.monotonic()
        at = time.monotonic_ns()
        path = os.path.join(self._folder, "render.png")
        view.saveImage(path, RENDER_SIZE[0], RENDER_SIZE[1], "Current")
        with open(path, "rb") as f:
            self.client.file("render", "png", f.read(), at, self._last_command_seq)

    def _state(self, kind="state"):
        doc = App.activeDocument()
        if doc is None or not self.client.wants_states:
            return
        at = time.monotonic_ns()
        # Only what stands for itself: a feature inside a body is part of the body's shape.
        shapes = [o for o in doc.Objects if hasattr(o, "Shape") and not o.Shape.isNull() and o.ViewObject.Visibility and not any(p.hasExtension("App::GroupExtension") and hasattr(p, "Shape") for p in o.InList)]
        if not shapes:
            return
        path = os.path.join(self._folder, "state.step")
        Import.export(shapes, path)
        with open(path, "rb") as f:
            self.client.file(kind, "step", f.read(), at, self._last_command_seq)

    def final(self):
        """Sends the model as it is now as the edit's result."""
        self._state("final")


_watcher = None


def start():
    global _watcher
    if _watcher is None:
        _watcher = Watcher()
    return _watcher
