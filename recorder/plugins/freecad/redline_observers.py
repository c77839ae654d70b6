"""Watches FreeCAD and tells Redline's bridge. Needs nothing of the user.

Commands are seen twice: the menu entry, tool button or shortcut that triggers them (its Qt action's object name is the
command's id), and the document transaction that the command opens, commits or aborts. One command gives one `started` and
one `ended` or `cancelled`, in this order.
"""

import os
import shutil
import tempfile
import time

import FreeCAD as App
import FreeCADGui as Gui
import Import

try:
    from PySide2 import QtCore, QtGui, QtWidgets

    QAction = QtWidgets.QAction
except ImportError:
    from PySide6 import QtCore, QtGui, QtWidgets

    QAction = QtGui.QAction

from redline_client import Client

RENDER_WIDTH = 1280
POLL_MS = 100
HOOK_EVERY_S = 1.0
# A render stops the window for some hundred milliseconds: not while somebody clicks or drags.
IDLE_S = 0.3
LONGEST_WAIT_S = 3.0
MAX_PARAMETERS = 100
MAX_LIST = 50
ENTITY_KINDS = {"Face": "face", "Edge": "edge", "Vertex": "vertex"}
DULL_PROPERTIES = {"Shape", "Visibility", "ExpressionEngine", "Label2", "_Body", "Tip", "Group", "Placement", "AddSubShape"}


def entity(document, obj_name, sub):
    """What FreeCAD names by document, object and sub-element, as the bridge's entity."""
    last = (sub or "").split(".")[-1]
    kind = next((k for prefix, k in ENTITY_KINDS.items() if last.startswith(prefix) and last[len(prefix):].isdigit()), None)
    doc = App.getDocument(document) if document in App.listDocuments() else None
    obj = doc.getObject(obj_name) if doc else None
    if kind is None:
        kind = "body" if obj is not None and obj.isDerivedFrom("PartDesign::Body") else "feature"
        last = obj_name
    path = []
    if obj is not None:
        holders = (p for p in reversed(obj.InListRecursive) if p.hasExtension("App::GroupExtension") or p.isDerivedFrom("App::Part"))
        path = [p.Label for p in holders]
    path.append(obj.Label if obj else obj_name)
    return {"kind": kind, "id": last, "path": "/".join(path), "document": doc.Label if doc else document}


def plain(value):
    """A property's value as JSON, or None when it is nothing simple."""
    if isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "UserString"):
        return value.UserString
    if hasattr(value, "TypeId") and hasattr(value, "Name"):
        return value.Name
    if isinstance(value, (list, tuple)) and len(value) <= MAX_LIST:
        items = [plain(v) for v in value]
        return None if None in items else items
    return None


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

    def slotCreatedObject(self, obj):
        self._w.changed_object(obj, None)

    def slotChangedObject(self, obj, prop):
        self._w.changed_object(obj, prop)

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


class InputFilter(QtCore.QObject):
    """Sees a command's button, menu entry or shortcut before the command runs, and when the mouse was really used."""

    def __init__(self, watcher):
        super().__init__()
        self._w = watcher

    def eventFilter(self, watched, event):
        try:
            self._look(watched, event)
        except Exception as e:  # the host must never see an error of ours
            App.Console.PrintLog("Redline: %s\n" % e)
        return False

    def _look(self, watched, event):
        kind = event.type()
        action = None
        if kind in (QtCore.QEvent.MouseButtonPress, QtCore.QEvent.MouseButtonRelease):
            self._w.input_seen(event)
            if kind == QtCore.QEvent.MouseButtonRelease:
                if isinstance(watched, QtWidgets.QToolButton):
                    if watched.isDown() and watched.rect().contains(event.pos()):
                        action = watched.defaultAction()
                elif isinstance(watched, QtWidgets.QMenu):
                    action = watched.actionAt(event.pos())
        elif kind == QtCore.QEvent.KeyPress:
            if isinstance(watched, QtWidgets.QMenu) and event.key() in (QtCore.Qt.Key_Return, QtCore.Qt.Key_Enter):
                action = watched.activeAction()
        elif kind == QtCore.QEvent.Shortcut and isinstance(watched, QAction):
            action = watched
        if action is not None:
            self._w.about_to_trigger(action)


class Watcher:
    """Collects what the observers see and sends renders and model states when FreeCAD is idle."""

    def __init__(self):
        self.client = Client("FreeCAD", ".".join(App.Version()[:3]), log=lambda text: App.Console.PrintLog(text + "\n"))
        self._command = None
        self._announced = None
        self._running = None
        self._touched = {}
        self._last_command_seq = None
        self._dirty = False
        self._render_wanted = False
        self._wanted_since = None
        self._changed_outside = False
        self._new = False
        self._last_render = 0.0
        self._last_input = 0.0
        self._input_ns = None
        self._hooked_at = 0.0
        self._camera = None
        self._folder = tempfile.mkdtemp(prefix="redline-")
        self._filter = InputFilter(self)
        self._selection_observer = SelectionObserver(self)
        self._document_observer = DocumentObserver(self)
        Gui.Selection.addObserver(self._selection_observer, 0)
        App.addDocumentObserver(self._document_observer)
        Gui.getMainWindow().workbenchActivated.connect(lambda *_: self._hook_soon())
        self.client.on_session = self._session_begins
        self.client.start()
        self._timer = QtCore.QTimer()
        self._timer.timeout.connect(self._tick)
        self._timer.start(POLL_MS)

    def stop(self):
        self._timer.stop()
        Gui.Selection.removeObserver(self._selection_observer)
        App.removeDocumentObserver(self._document_observer)
        self.client.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    # Input.

    def input_seen(self, event):
        """Remembers when the mouse was used, for what happens while its event is handled."""
        now = time.monotonic_ns()
        self._last_input = time.monotonic()
        self._input_ns = None
        if QtGui.QGuiApplication.platformName() == "xcb":
            # An X server on this machine stamps with the same clock, in milliseconds that wrap.
            late_ms = (now // 1_000_000 - event.timestamp()) & 0xFFFFFFFF
            if late_ms < 5000:
                self._input_ns = now - late_ms * 1_000_000
        QtCore.QTimer.singleShot(0, self._input_done)

    def _input_done(self):
        self._input_ns = None

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
        if self._input_ns is not None and kind != "preselected":
            fields["client_ns"] = self._input_ns
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

    def about_to_trigger(self, action):
        if "_" not in action.objectName() or not action.isEnabled() or action.menu() is not None:
            return
        self._begin(action)
        self._announced = action.objectName()

    def triggered(self, action):
        if self._announced == action.objectName():
            self._announced = None
        else:
            self._begin(action)
        # A command ends by itself unless it has opened a transaction.
        QtCore.QTimer.singleShot(0, self._action_done)

    def _begin(self, action):
        # What was announced and never came was let go of.
        self._finish("cancelled" if self._announced else "ended")
        self._announced = None
        self._command = (action.objectName(), action.text().replace("&", ""))
        self._send_command("started", self._command)

    def _action_done(self):
        if not self._announced:
            self._finish("ended")

    def _finish(self, kind):
        if self._command:
            command, self._command = self._command, None
            self._send_command(kind, command)
            self._render_wanted = True

    def transaction_opened(self, name):
        self._close_running("ended")
        self._touched = {}
        if self._command:
            # It goes on until its transaction closes; others, such as a turn of the view, may come in between.
            self._running, self._command = self._command, None
        else:
            self._running = (None, name)
            self._send_command("started", self._running)

    def transaction_closed(self, kind):
        self._close_running(kind)
        self._dirty = True

    def _close_running(self, kind):
        if self._running:
            command, self._running = self._running, None
            self._send_command(kind, command, self._parameters() if kind == "ended" else None)
            self._touched = {}

    def changed(self):
        self._dirty = True
        if self._command is None and self._running is None:
            self._changed_outside = True

    def changed_object(self, obj, prop):
        if self._running and len(self._touched) < MAX_PARAMETERS and prop not in DULL_PROPERTIES:
            self._touched[(obj.Document.Name, obj.Name, prop)] = None

    def _parameters(self):
        """What the command made and set, as far as it is simple."""
        made = {}
        for doc_name, name, prop in self._touched:
            doc = App.getDocument(doc_name) if doc_name in App.listDocuments() else None
            obj = doc.getObject(name) if doc else None
            if obj is None:
                continue
            of = made.setdefault(name, {"object": name, "type": obj.TypeId, "properties": {}})
            value = plain(getattr(obj, prop, None)) if prop else None
            if value is not None:
                of["properties"][prop] = value
        return {"objects": list(made.values())} if made else None

    def _send_command(self, kind, command, parameters=None):
        ident, name = command
        fields = {"kind": kind, "name": name}
        if ident:
            fields["command_id"] = ident
        if parameters:
            fields["parameters"] = parameters
        if kind == "started" and self._input_ns is not None:
            fields["client_ns"] = self._input_ns
        seq = self.client.event("command", **fields)
        if kind == "ended" and seq:
            self._last_command_seq = seq

    # Renders, states, camera: polled in the main thread, where alone the view may be read.

    def _session_begins(self):
        # Called in the client's thread.
        self._new = True

    def _tick(self):
        try:
            self._hook_actions()
            if self._new:
                self._new = False
                self._last_command_seq = None
                self._camera = None
                self._dirty = True
                # What was done before is in the session's first state.
                self._changed_outside = False
            if not self.client.active:
                return
            if self.client.closing:
                self._render()
                self.final()
                self.client.goodbye()
                return
            if self._changed_outside and self._command is None and self._running is None:
                self._changed_outside = False
                self.client.event("command", kind="changed", name="Recompute")
            if self._look_at_camera():
                self._render_wanted = True
            self._show_what_changed()
        except Exception as e:  # the host must never see an error of ours
            App.Console.PrintLog("Redline: %s\n" % e)

    def _show_what_changed(self):
        now = time.monotonic()
        if not (self._dirty or self._render_wanted) or self._running:
            return
        self._wanted_since = self._wanted_since or now
        idle = now - self._last_input >= IDLE_S or now - self._wanted_since >= LONGEST_WAIT_S
        if not idle or now - self._last_render < self.client.render_interval_s:
            return
        changed, self._dirty, self._render_wanted, self._wanted_since = self._dirty, False, False, None
        self._render()
        if changed:
            self._state("state")

    def _hook_soon(self):
        self._hooked_at = 0.0

    def _hook_actions(self):
        now = time.monotonic()
        if now - self._hooked_at < HOOK_EVERY_S:
            return
        self._hooked_at = now
        window = Gui.getMainWindow()
        for action in window.findChildren(QAction):
            if "_" in action.objectName() and self._is_new(action):
                action.triggered.connect(lambda checked=False, a=action: self.triggered(a))
                action.installEventFilter(self._filter)
        for kind in (QtWidgets.QToolButton, QtWidgets.QMenu):
            for widget in window.findChildren(kind):
                if self._is_new(widget):
                    widget.installEventFilter(self._filter)
        for view in window.findChildren(QtWidgets.QGraphicsView):
            if self._is_new(view.viewport()):
                view.viewport().installEventFilter(self._filter)

    def _is_new(self, thing):
        # Said by the thing itself: an address may be used again after its owner has gone.
        if thing.property("redlineHooked"):
            return False
        thing.setProperty("redlineHooked", True)
        return True

    @staticmethod
    def _view():
        view = Gui.activeDocument().activeView() if Gui.activeDocument() else None
        return view if view is not None and hasattr(view, "getCamera") else None

    def _look_at_camera(self):
        view = self._view()
        if view is None:
            return False
        camera = view.getCamera()
        if camera == self._camera:
            return False
        self._camera = camera
        position = view.getCameraNode().position.getValue().getValue()
        parameters = {"position": list(position), "quaternion": list(view.getCameraOrientation().Q), "type": view.getCameraType()}
        self.client.event("command", kind="camera", parameters=parameters)
        return True

    def _render(self):
        view = self._view()
        if view is None:
            return
        width, height = view.getSize()
        scale = min(1.0, RENDER_WIDTH / max(1, width))
        at = time.monotonic_ns()
        path = os.path.join(self._folder, "render.png")
        view.saveImage(path, max(2, int(width * scale)), max(2, int(height * scale)), "Current")
        with open(path, "rb") as f:
            self.client.file("render", "png", f.read(), at, self._last_command_seq)
        # From its end: a slow picture must not leave the host without time of its own.
        self._last_render = time.monotonic()

    def _shapes(self):
        """Visible objects that stand for themselves: what is in a body or part is exported with it."""
        doc = App.activeDocument()
        if doc is None:
            return []
        top = (o for o in doc.Objects if o.getParentGeoFeatureGroup() is None and o.ViewObject and o.ViewObject.Visibility)
        return [o for o in top if (hasattr(o, "Shape") and not o.Shape.isNull()) or o.isDerivedFrom("App::Part") or o.isDerivedFrom("App::Link")]

    def _state(self, kind):
        shapes = self._shapes()
        if not shapes or (kind == "state" and not self.client.wants_states):
            return
        at = time.monotonic_ns()
        path = os.path.join(self._folder, "state.step")
        Import.export(shapes, path)
        with open(path, "rb") as f:
            self.client.file(kind, "step", f.read(), at, self._last_command_seq)

    def final(self):
        """Sends the model as it is now as the edit's result: FreeCAD's own file first, then STEP."""
        doc = App.activeDocument()
        if doc is None or not self._shapes():
            return
        path = os.path.join(self._folder, "final.FCStd")
        at = time.monotonic_ns()
        doc.saveCopy(path)
        with open(path, "rb") as f:
            self.client.file("final", "fcstd", f.read(), at, self._last_command_seq)
        self._state("final")


_watcher = None


def start():
    global _watcher
    if _watcher is None:
        _watcher = Watcher()
    return _watcher
