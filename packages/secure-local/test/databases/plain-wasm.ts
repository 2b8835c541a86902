// Imported by tests that start SQL engines over and over, each for a moment: V8 compiles their WebAssembly plainly and once.
import { setFlagsFromString } from "node:v8";
import { soaking } from "../../../mcp/test/support/soak.js";

if (!soaking) setFlagsFromString("--liftoff-only");
