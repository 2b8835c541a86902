// Nothing: what Node itself needs from start to exit.
