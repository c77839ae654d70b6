"""Started by FreeCAD with its window."""

import FreeCAD

try:
    import redline_observers

    redline_observers.start()
except Exception as error:  # a broken add-on must not stop FreeCAD
    FreeCAD.Console.PrintError("Redline add-on: %s\n" % error)
