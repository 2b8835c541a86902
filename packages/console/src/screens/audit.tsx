// Audit: what happened over a time as a picture, by client and by tool, and the proof that no record was changed.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { JSX } from "preact";
import type { EventShown, Totals } from "../api.js";
import { Bars, Lanes } from "../charts.js";
import { CallFacts, Counts } from "../counts.js";
import { exportCalls, exportRecords } from "../export.js";
import { now } from "../live.js";
import { Action, Brief, dayBegin, Empty, Fault, Moment, Shown } from "../parts.js";
import { isChanged, Proof, ProofInBrief } from "../proof.js";
import { get } from "../request.js";
import { go, place } from "../router.js";

/** Each by its word in the address, and when it began. */
const SPANS = [
  ["hour", "the last hour", (until: number) => until - 3_600_000],
  ["today", "today", (until: number) => dayBegin(until)],
  ["yesterday", "yesterday", (until: number) => dayBegin(until, 1)],
  ["day", "the last 24 hours", (until: number) => until - 86_400_000],
  ["week", "the last week", (until: number) => until - 604_800_000],
  ["month", "the last month", (until: number) => until - 2_592_000_000],
] as const;
const USUAL = SPANS[3];

type Span = (typeof SPANS)[number];

export function Audit(): JSX.Element {
  const chosen = SPANS.find(([each]) => each === place.value.query.get("time")) ?? USUAL;
  const [span] = chosen;
  const { sums, fault } = useTotals(chosen);
  const isBad = isChanged();
  const kind = place.value.query.get("kind");
  const since = sums?.from;
  const until = span === "yesterday" ? sums?.to : undefined;
  return (
    <>
      {isBad && <Proof />}
      <section aria-labelledby="audit-title">
        <h2 id="audit-title">Audit</h2>
        {!isBad && <ProofInBrief />}
        <div class="spans" role="group" aria-label="Time">
          {SPANS.map(([each, name]) => (
            <button key={name} type="button" aria-pressed={span === each} onClick={() => go("audit", { time: each })}>
              {name}
            </button>
          ))}
        </div>
        <Search since={since} until={until} />
        {sums !== undefined && <Export of={sums} />}
        {sums !== undefined && kind !== null && <Events key={`${span} ${kind}`} kind={kind} of={sums} />}
        <Fault error={fault} />
        {sums?.calls === 0 && (
          <Empty next="Choose a longer time, or ask your AI client to use a tool.">
            Nothing was recorded in this time.
          </Empty>
        )}
        {sums !== undefined && sums.calls > 0 && <CallsIn of={sums} until={until} />}
      </section>
      {!isBad && <Proof />}
    </>
  );
}

/** What was counted in a time, and what went wrong when it was asked for. */
function useTotals([span, , begin]: Span): { readonly sums: Totals | undefined; readonly fault: unknown } {
  const totals = useSignal<Totals | undefined>(undefined);
  const fault = useSignal<unknown>(undefined);
  useEffect(() => {
    const until = span === "yesterday" ? dayBegin(now.peek()) : now.peek();
    const from = begin(now.peek());
    get<Totals>("/api/totals", { since: from, until, lanes: "yes" }).then(
      (read) => (totals.value = read),
      (error: unknown) => (fault.value = error),
    );
  }, [span]);
  return { sums: totals.value, fault: fault.value };
}

interface SearchProps {
  readonly since: number | undefined;
  /** Undefined: what comes from now on is found as well. */
  readonly until: number | undefined;
}

function Search({ since, until }: SearchProps): JSX.Element {
  const words = useSignal("");
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        go("calls", { text: words.value, since, until });
      }}
    >
      <label>
        Search in this time
        <input
          type="search"
          value={words.value}
          placeholder="path, host, tool, rule, client…"
          onInput={({ currentTarget }) => (words.value = currentTarget.value)}
        />
      </label>
      <button type="submit">Search</button>
    </form>
  );
}

interface CallsInProps {
  readonly of: Totals;
  /** Undefined: what comes from now on is counted as well. */
  readonly until: number | undefined;
}

/** The calls of a time: in numbers, as pictures, and by who called, what was called and what decided. */
function CallsIn({ of: sums, until }: CallsInProps): JSX.Element {
  const { from: since } = sums;
  return (
    <>
      <CallFacts of={sums} />
      <Bars
        buckets={sums.buckets}
        label="calls; choose a bar to see them"
        choose={(from, to) => go("calls", { since: Math.floor(from), until: Math.ceil(to) })}
      />
      {(["client", "name"] as const).map((field) => (
        <Lanes
          key={field}
          title={field === "client" ? "By client" : "By tool"}
          of={sums.lanes?.[field] ?? []}
          buckets={sums.buckets}
          none="(none)"
          choose={(name, from, to) => go("calls", { [field]: name, since: Math.floor(from), until: Math.ceil(to) })}
        />
      ))}
      {Math.max(sums.byClient.length, sums.byName.length) > (sums.lanes?.name.length ?? 0) && (
        <p class="note">Drawn are those that called, or were called, most. All are in the lists below.</p>
      )}
      <div class="counts">
        <Counts title="Clients" key="client" field="client" of={sums.byClient} since={since} until={until} />
        <Counts title="Tools" key="name" field="name" of={sums.byName} since={since} until={until} />
        <Counts title="Rules" key="rule" field="rule" of={sums.byRule} since={since} until={until} />
      </div>
    </>
  );
}

/** What may be exported of a time, and what is in it. */
function Export({ of: { from: since, to: until, calls, events = {} } }: { readonly of: Totals }): JSX.Element {
  const others = Object.entries(events).sort(([, one], [, other]) => other - one);
  const count = others.reduce((sum, [, each]) => sum + each, 0);
  const time = { since: Math.floor(since), until: Math.ceil(until) };
  return (
    <>
      <div class="answers">
        <Action label="Export the calls" act={() => exportCalls(time)} disabled={calls === 0} />
        <Action label="Export all records" act={() => exportRecords(time)} disabled={calls + count === 0} />
      </div>
      <p class="note">
        The calls: every record of {calls === 1 ? "one call" : `${calls} calls`}. All records: those, and{" "}
        {count === 0 ? "no other" : "those below"}. Both are a copy: only the log itself can be verified.
      </p>
      {count > 0 && (
        <ul class="kinds">
          {others.map(([kind, each]) => (
            <li key={kind}>
              <button
                type="button"
                class="link"
                onClick={() => go("audit", { time: place.value.query.get("time") ?? undefined, kind })}
              >
                {each} × <Brief text={EVENTS[kind] ?? kind} />
              </button>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** What records say that are of no call. */
const EVENTS: Readonly<Record<string, string>> = {
  start: "a server of this program began",
  stop: "a server of this program ended",
  "policy.loaded": "a policy was taken up",
  "policy.rejected": "a policy could not be used",
  "people.changed": "people came, went or got another token",
  "people.ended": "the work of somebody who left was ended",
  "people.rejected": "a list of people could not be used",
  "lock.loaded": "approvals were taken up",
  "lock.rejected": "approvals could not be used",
  "plugins.changed": "plugins changed",
  "plugins.quarantined": "definitions of a plugin were withheld",
  "plugin.runs": "a plugin began",
  "plugin.fetches": "a plugin sent",
  "plugin.keeps": "a plugin stored",
  "server.started": "a server of the policy began",
  "server.quarantined": "definitions of a server were withheld",
  "server.asked": "a server asked a person or a model",
  "server.answered": "a server was answered",
  "server.login": "a login to a server",
  "approval.taken_back": "a remembered answer was taken back",
  "sandbox.begun": "a sandbox began",
  "sandbox.refused": "a sandbox was refused something",
  "sandbox.ended": "a sandbox ended",
  "recording.begun": "a recording began",
  "recording.ended": "a recording ended",
  "checkpoints.away": "no checkpoint could be written",
  "checkpoints.back": "checkpoints could be written again",
  "cluster.joined": "a process joined the others",
  "cluster.heads": "the logs of other processes were noted",
  "cluster.away": "Redis went away",
  "cluster.back": "Redis came back",
  "log.repaired": "the end of a log was repaired",
  "log.truncated": "records were missing at the end of a log",
  "log.restored": "a log was restored",
};

/** Records of one kind that are of no call, each with all that it says. */
function Events({ kind, of: { from: since, to: until } }: { readonly kind: string; readonly of: Totals }): JSX.Element {
  const found = useSignal<readonly EventShown[] | undefined>(undefined);
  const fault = useSignal<unknown>(undefined);
  useEffect(() => {
    get<EventShown[]>("/api/events", { kind, since: Math.floor(since), until: Math.ceil(until) }).then(
      (read) => (found.value = read),
      (error: unknown) => (fault.value = error),
    );
  }, []);
  return (
    <section aria-labelledby="audit-events">
      <h3 id="audit-events">
        <Brief text={EVENTS[kind] ?? kind} />
      </h3>
      <Fault error={fault.value} />
      {found.value?.map(({ at, object, text }, index) => (
        <details key={index}>
          <summary>
            <Moment at={at} dated /> <Brief text={object} />
          </summary>
          <Shown text={text} block />
        </details>
      ))}
      {found.value?.length === 0 && <p class="calm">There is none in this time any more.</p>}
    </section>
  );
}
