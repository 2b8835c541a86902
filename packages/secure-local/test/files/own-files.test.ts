// The files of this very program, which no policy gives anybody.
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { programPlaces } from "../../src/capabilities/files/own-files.js";

it("the program's own files are its whole package, where it was started, and Node, by their real names too", () => {
  const folder = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
  const paths = [folder, process.argv[1] ?? "", process.execPath];
  expect(programPlaces()).toEqual([...new Set([...paths, ...paths.map((path) => realpathSync(path))])]);
});
