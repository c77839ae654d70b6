"""FreeCAD's Python console for the tests: runs what comes as JSON strings over a loopback socket, in the main thread.

The answer is JSON too: what the code left in `result`, or the error. REDLINE_DRIVER is the file that gets the port.
"""

import json
import os
import queue
import socket
import threading
import traceback

try:
    from PySide2 import QtCore, QtWidgets
except ImportError:
    from PySide6 import QtCore, QtWidgets

import FreeCAD as App
import FreeCADGui as Gui

driver_jobs = queue.Queue()
driver_scope = {"App": App, "Gui": Gui, "QtCore": QtCore, "QtWidgets": QtWidgets}


def driver_serve():
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen(1)
    path = os.environ["REDLINE_DRIVER"]
    with open(path + ".new", "w") as f:
        f.write(str(server.getsockname()[1]))
    os.rename(path + ".new", path)
    while True:
        connection, _ = server.accept()
        stream = connection.makefile("rw")
        for line in stream:
            done = queue.Queue()
            driver_jobs.put((json.loads(line), done))
            stream.write(json.dumps(done.get()) + "\n")
            stream.flush()


def driver_tick():
    try:
        code, done = driver_jobs.get_nowait()
    except queue.Empty:
        return
    driver_scope.pop("result", None)
    try:
        exec(compile(code, "test", "exec"), driver_scope)
        done.put({"result": driver_scope.get("result")})
    except Exception:
        done.put({"error": traceback.format_exc()})


driver_timer = QtCore.QTimer()
driver_timer.timeout.connect(driver_tick)
driver_timer.start(20)
threading.Thread(target=driver_serve, daemon=True).start()
