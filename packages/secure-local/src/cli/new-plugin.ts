// `mcp-secure-local plugins new`: writes a plugin that works, with a test.
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Language, pluginFiles } from "./plugin-templates.js";
import { nearest, UsageError } from "./command-line.js";
import { ExitCode, print } from "./terminal.js";

const LANGUAGES: readonly Language[] = ["js", "ts", "python", "sh"];
const NAME = /^[a-z][a-z0-9_-]{0,47}$/;

/** `NAME [LANGUAGE]`: a folder of that name in the current one. Nothing that exists is touched. */
export async function newPlugin([name, language = "js", ...more]: readonly string[]): Promise<number> {
  if (name === undefined || !NAME.test(name) || more.length > 0) {
    throw new UsageError(
      "plugins new needs a name of lower-case letters, digits, - and _, as in plugins new weather python",
    );
  }
  const known = LANGUAGES.find((each) => each === language);
  if (known === undefined) {
    throw new UsageError(
      `there is no template for "${language}", only ${LANGUAGES.join(", ")}${nearest(language, LANGUAGES)}`,
    );
  }
  const folder = resolve(name);
  if (existsSync(folder)) throw new UsageError(`${folder} exists already; choose another name`);
  const { files, test } = pluginFiles(name, known);
  mkdirSync(folder);
  for (const [file, { text, executable = false }] of Object.entries(files)) {
    writeFileSync(join(folder, file), text, { flag: "wx" });
    if (executable) chmodSync(join(folder, file), 0o755);
  }
  print(`${Object.keys(files)
    .map((file) => join(name, file))
    .join("\n")}

Try it:  cd ${name} && ${test}
Load it, in your policy:

tools: { allowed: ["${name}_*"] }
plugins:
  load:
    - name: ${name}
      path: ${folder}`);
  return ExitCode.Ok;
}
