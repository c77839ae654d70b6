"""FreeCAD loads this without a window; Redline watches only windows."""
