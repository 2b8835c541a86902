// What is not well, in words, and where it is mended. Everything that the screens Servers and Audit show as not well is here.
import { computed, type ReadonlySignal } from "@preact/signals";
import type { PolicyServer, RunningServer } from "./api.js";
import { logs, servers, verified } from "./live.js";
import { processName } from "./process-names.js";

interface Trouble {
  readonly what: string;
  readonly advice: string;
  /** The screen where it is mended, and what the way there is called. */
  readonly go: string;
  /** Which thing of that screen it is. */
  readonly query?: Readonly<Record<string, string | number>>;
  readonly link: string;
  /** A person has refused what is withheld: nothing is to be done. */
  readonly isDecided?: boolean;
  /** The process that vanished; a person may say that they have seen it. */
  readonly gone?: { readonly pid: number; readonly since: number };
}

const everything: ReadonlySignal<readonly Trouble[]> = computed(() => {
  const all = [...logTroubles(), ...servers.value.flatMap(processTroubles)];
  // Each process of a policy says the same of its servers.
  return [...new Map(all.map((each) => [each.what, each])).values()];
});

export const troubles: ReadonlySignal<readonly Trouble[]> = computed(() =>
  everything.value.filter((each) => each.isDecided !== true),
);

/** What a person has decided: it waits for nobody, and is not counted. */
export const decided: ReadonlySignal<readonly Trouble[]> = computed(() =>
  everything.value.filter((each) => each.isDecided === true),
);

/** Nothing is wrong with one that waits for its first call, or that the policy leaves out. */
function isWell({ state, cause }: PolicyServer): boolean {
  return state === "disabled" || (cause === "" && ["ready", "starting", "idle", "stopped"].includes(state));
}

function processTroubles(server: RunningServer): Trouble[] {
  const { state, pid, since, plugins, servers: mounted = [] } = server;
  const at = (kind: string, name: string): Pick<Trouble, "query"> => ({ query: { process: pid, kind, name } });
  if (state === "gone")
    return [
      {
        what: `The server of process ${pid} vanished. ${processName(server)}.`,
        advice: "Its client starts a new one when it is asked to reconnect.",
        go: "servers",
        query: { process: pid },
        link: "Look",
        gone: { pid, since },
      },
    ];
  return [
    ...checkpointTroubles(server),
    ...plugins
      .filter((each) => each.refused !== undefined)
      .map(({ name }) => ({ what: `You refused what plugin ${name} offers now.`, ...REFUSED, ...at("plugin", name) })),
    ...mounted
      .filter((each) => each.refused !== undefined && each.state !== "disabled")
      .map(({ name }) => ({ what: `You refused what server ${name} offers now.`, ...REFUSED, ...at("server", name) })),
    ...plugins
      .filter((each) => each.refused === undefined && each.state !== "ready" && each.state !== "starting")
      .map(({ name, state: is, note }) => ({
        what: `Plugin ${name} is ${is}${note === "" ? "." : `: ${note}`}`,
        ...(is === "refused" ? DECIDE : SEE),
        ...at("plugin", name),
      })),
    ...plugins
      .filter(({ withheld, refused }) => refused === undefined && Object.keys(withheld).length > 0)
      .map(({ name, withheld }) => ({
        what: `Plugin ${name}: ${Object.keys(withheld).length} withheld.`,
        ...DECIDE,
        ...at("plugin", name),
      })),
    ...mounted
      .filter((each) => !isWell(each) && !(each.refused !== undefined && isOfWords(each)))
      .map((each) => ({
        what: troubleOf(each),
        ...(isOfWords(each) ? DECIDE : SEE),
        ...at("server", each.name),
      })),
  ];
}

function checkpointTroubles({ checkpointFault }: RunningServer): Trouble[] {
  if (checkpointFault === undefined) return [];
  return [
    {
      what: `No checkpoint of the audit log can be written: ${checkpointFault}.`,
      advice: "Calls are run and recorded; what would show that the log was cut off is missing.",
      go: "audit",
      link: "See the log",
    },
  ];
}

/** Whether what is wrong is what it offers, which a person decides. */
export function isOfWords({ state, remedy }: PolicyServer): boolean {
  return state === "withheld" || remedy.includes(" review ");
}

/** Idle is no trouble: what is wrong with an idle one is its cause. Servers shows all of it. */
function troubleOf({ name, state, cause, brief = cause }: PolicyServer): string {
  const why = brief.replace(TOOK, "").replace(/(?<![.!?])$/, ".");
  return state === "idle" ? `Server ${name}: ${why}` : `Server ${name} is ${state}${cause === "" ? "." : `: ${why}`}`;
}

/** Each process of a policy has tried by itself; only how long it took was another time. */
const TOOK = / \(after [\d.]+ m?s\)/;

const REFUSED = {
  advice: "It stays withheld.",
  go: "definitions",
  link: "Look at it again",
  isDecided: true,
};
const SEE = { advice: "Servers shows what it wrote, and starts it again.", go: "servers", link: "Mend it" };
const DECIDE = { advice: "Definitions shows what it offers now.", go: "definitions", link: "Read and decide" };

function logTroubles(): Trouble[] {
  const changed = new Map<string, string>();
  for (const { file, ok, reason } of verified.value?.found ?? []) if (!ok) changed.set(file, reason ?? "");
  for (const { file, changed: why } of logs.value) if (why !== undefined) changed.set(file, why);
  return [
    ...[...changed].map(([file, why]) => ({
      what: `The audit log ${file} was changed: ${why}.`,
      advice: "Find out who can write there.",
      go: "audit",
      link: "See where",
    })),
    ...logs.value
      .filter(({ fault }) => fault !== undefined && fault !== "there is no such file yet")
      .map(({ file, fault }) => ({
        what: `The audit log ${file} cannot be read: ${fault}`,
        advice: "Make it readable for you.",
        go: "audit",
        link: "Look",
      })),
  ];
}
