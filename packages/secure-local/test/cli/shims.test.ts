// A shim of a version manager finds nothing in a sandbox: whoever names one is told what to type.
import { expect, test } from "vitest";
import { shimRefusal } from "../../src/cli/sandbox-command.js";

const read = (path: string): { path: string; access: "read" } => ({ path, access: "read" });

test.each([
  ["/home/a/.pyenv", "pyenv which python3"],
  ["/home/a/.rbenv", "rbenv which python3"],
  ["/home/a/.asdf", "asdf which python3"],
  ["/home/a/.local/share/mise", "mise which python3"],
])("a shim in %s", (root, words) => {
  const shim = `${root}/shims/python3`;
  const said = shimRefusal(shim, [read(shim), read("/srv")]);
  for (const part of [shim, words, "sandbox.read_only_paths", "/usr/bin/python3"]) expect(said).toContain(part);
  for (const seen of [root, "/home"]) expect(shimRefusal(shim, [read(seen)])).toBeUndefined();
});

test.each(["/usr/bin/python3", "/home/a/.pyenv/versions/3.12/bin/python3", "/shims/x"])("%s is none", (path) =>
  expect(shimRefusal(path, [])).toBeUndefined(),
);
