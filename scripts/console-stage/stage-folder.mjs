// Where things of a console stage are in its folder, and with which environment all its programs are started.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { root } from "../lib/run-command.mjs";

/** The built product. */
export const COMMAND = join(root, "packages/secure-local/dist/mcp-secure-local.cjs");

/** What `up` makes in the folder, and the next `up` makes anew: the person's home, what the stage remembers, and each step in the browser. */
const OURS = ["home", "stage", "steps.log"];

/** The places of the stage in `dir`. */
export function stageIn(dir) {
  const folder = resolve(dir);
  const home = join(folder, "home");
  const own = (name) => join(folder, "stage", name);
  const state = join(home, ".local/state");
  return {
    folder,
    home,
    at: (...names) => join(home, ...names),
    own,
    /** The policy of most clients, that of the team's, and the broken file of a server. */
    policy: join(home, "policy.yaml"),
    teamPolicy: join(home, "team/policy.yaml"),
    teamLog: join(home, "team/team.log"),
    broken: join(home, "calendar/events.json"),
    logs: join(state, "mcp-secure-local"),
    /** Nothing of the caller's but where programs are: no folder and no setting of theirs is touched. */
    env: {
      PATH: process.env.PATH,
      HOME: home,
      XDG_STATE_HOME: state,
      XDG_CONFIG_HOME: join(home, ".config"),
      XDG_DATA_HOME: join(home, ".local/share"),
      XDG_CACHE_HOME: join(home, ".cache"),
    },
  };
}

/** Empties the folder of an earlier stage. @throws Error where it holds something that no stage made */
export function clearStage({ folder, own }) {
  mkdirSync(folder, { recursive: true });
  const there = readdirSync(folder).filter((name) => OURS.includes(name));
  if (there.length > 0 && !existsSync(own("mark")))
    throw new Error(`${folder} has ${there.join(" and ")}, which no stage made; name another folder`);
  for (const name of OURS)
    rmSync(join(folder, name), { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  mkdirSync(own("."), { recursive: true, mode: 0o700 });
  writeFileSync(own("mark"), "Made by scripts/console-stage.mjs.\n");
}

/** @throws Error where `up` has not made this stage */
export function mustBeStage({ folder, own }) {
  if (!existsSync(own("mark"))) throw new Error(`there is no stage in ${folder}; begin with: up ${folder}`);
}

/** What the stage remembers under a name; `otherwise` where it does not. */
export function remembered({ own }, name, otherwise) {
  return existsSync(own(`${name}.json`)) ? JSON.parse(readFileSync(own(`${name}.json`), "utf8")) : otherwise;
}

export function remember({ own }, name, value) {
  writeFileSync(own(`${name}.json`), `${JSON.stringify(value, undefined, 2)}\n`);
}

/** The records of a log, with what ties those of one call together. */
export function recordsIn(file) {
  let session = 0;
  return (
    readFileSync(file, "utf8")
      .split("\n")
      // What stands behind the last line break is still being written.
      .slice(0, -1)
      .map((line) => {
        const record = JSON.parse(line);
        if (record.kind === "start") session += 1;
        return { ...record, call: `${file} ${session} ${record.connection} ${record.id}` };
      })
  );
}

/** The records of every log of the stage, those of one log in their order. */
export function allRecords({ logs, teamLog }) {
  const names = readdirSync(logs).filter((name) => /^audit(\.\d+)?\.log$/.test(name));
  return [...names.map((name) => join(logs, name)), teamLog].flatMap(recordsIn);
}
