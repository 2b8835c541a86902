// The files of this very program, which no policy gives anybody.
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { programPlaces } from "../../src/capabilities/files/own-files.js";
import { COMMAND } from "../cli/command.js";

it("the program's own files are its whole package, where it was started, and Node, by their real names too", () => {
  const folder = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
  const [, started = ""] = programPlaces();
  // They are looked up once: a command line that ran in this process before was started as the command is.
  expect([process.argv[1], COMMAND]).toContain(started);
  const paths = [folder, started, process.execPath];
  expect(programPlaces()).toEqual([...new Set([...paths, ...paths.map((path) => realpathSync(path))])]);
});
