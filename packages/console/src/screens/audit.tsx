// Audit: what happened over a time as a picture, by client and by tool, and the proof that no record was changed.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { JSX } from "preact";
import type { Totals, Verification } from "../api.js";
import { Bars, Chain, Lanes } from "../charts.js";
import { CallFacts, Counts } from "../counts.js";
import { logs, now, verified } from "../live.js";
import { Action, Command, Empty, Fault, Moment, Shown, State } from "../parts.js";
import { get, post } from "../request.js";
import { go } from "../router.js";
import { exportCalls } from "./calls.js";

const SPANS = [
  ["the last hour", 3_600_000],
  ["the last day", 86_400_000],
  ["the last week", 604_800_000],
  ["the last month", 2_592_000_000],
] as const;

export function Audit(): JSX.Element {
  const span = useSignal<number>(SPANS[1][1]);
  const totals = useSignal<Totals | undefined>(undefined);
  const fault = useSignal<unknown>(undefined);
  const isBad = isChanged();
  useEffect(() => {
    const until = now.peek();
    get<Totals>("/api/totals", { since: until - span.value, until, lanes: "yes" }).then(
      (read) => (totals.value = read),
      (error: unknown) => (fault.value = error),
    );
  }, [span.value]);
  const words = useSignal("");
  const sums = totals.value;
  const since = sums?.from;
  return (
    <>
      {isBad && <Proof />}
      <section aria-labelledby="audit-title">
        <h2 id="audit-title">Audit</h2>
        <div class="spans" role="group" aria-label="Time">
          {SPANS.map(([name, ms]) => (
            <button key={name} type="button" aria-pressed={span.value === ms} onClick={() => (span.value = ms)}>
              {name}
            </button>
          ))}
        </div>
        <form
          class="filters"
          onSubmit={(event) => {
            event.preventDefault();
            go("calls", { text: words.value, since });
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
          <Action
            label="Export this time"
            act={() => exportCalls({ since })}
            disabled={sums === undefined || sums.calls === 0}
          />
        </form>
        <Fault error={fault.value} />
        {sums?.calls === 0 && (
          <Empty next="Choose a longer time, or ask your AI client to use a tool.">
            Nothing was recorded in this time.
          </Empty>
        )}
        {sums !== undefined && sums.calls > 0 && (
          <>
            <CallFacts of={sums} />
            <Bars
              buckets={sums.buckets}
              label="calls; choose a bar to see them"
              choose={(from, until) => go("calls", { since: Math.floor(from), until: Math.ceil(until) })}
            />
            {(["client", "name"] as const).map((field) => (
              <Lanes
                key={field}
                title={field === "client" ? "By client" : "By tool"}
                of={sums.lanes?.[field] ?? []}
                buckets={sums.buckets}
                none="(none)"
                choose={(name, from, until) =>
                  go("calls", { [field]: name, since: Math.floor(from), until: Math.ceil(until) })
                }
              />
            ))}
            <div class="counts">
              <Counts title="Clients" key="client" field="client" of={sums.byClient} since={since} />
              <Counts title="Tools" key="name" field="name" of={sums.byName} since={since} />
              <Counts title="Rules" key="rule" field="rule" of={sums.byRule} since={since} />
            </div>
          </>
        )}
      </section>
      {!isBad && <Proof />}
    </>
  );
}

/** What is known of each log: what the last check found, and what the console itself saw change. The worst first. */
function Proof(): JSX.Element {
  const proof = verified.value;
  const changed = logs.value.filter(
    (each) => each.changed !== undefined && !proof?.found.some(({ file, ok }) => file === each.file && !ok),
  );
  const found = [...(proof?.found ?? [])].sort((a, b) => Number(a.ok) - Number(b.ok));
  const unknown = logs.value.filter(({ file }) => !found.some((each) => each.file === file));
  return (
    <section aria-labelledby="audit-chain">
      <h2 id="audit-chain">
        {isChanged() ? (
          <span class="bad">The log was changed</span>
        ) : proof === undefined ? (
          "Was the log changed?"
        ) : (
          "Nobody changed the log"
        )}
      </h2>
      {changed.map(({ file, changed: why }) => (
        <article key={file} class="broken">
          <h3>
            <Shown text={file} /> <State of="denied" word="changed" />
          </h3>
          <p class="bad" role="alert">
            <Shown text={why ?? ""} />.
          </p>
        </article>
      ))}
      {found.map((each) => (
        <Verified key={each.file} of={each} />
      ))}
      {proof !== undefined && (
        <p class="note">
          Verified at <Moment at={proof.at} />.
        </p>
      )}
      <p>
        Each record carries the hash of the one before it. A record that was changed, removed or added breaks the chain.
      </p>
      <Action label="Verify every record" act={async () => void (await post("/api/verify", {}))} />
      <ul>
        {unknown.map(({ file, records, fault: why }) => (
          <li key={file}>
            <Shown text={`${file}: ${why ?? `${records} records, not verified yet`}`} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function isChanged(): boolean {
  return (
    verified.value?.found.some(({ ok }) => !ok) === true || logs.value.some(({ changed }) => changed !== undefined)
  );
}

function Verified({ of }: { readonly of: Verification }): JSX.Element {
  const { file, ok, records, files, checkpoints, badFile, firstBadLine, reason, notes, command } = of;
  return (
    <article class={ok ? "verified" : "broken"}>
      <h3>
        <Shown text={file} /> <State of={ok ? "ok" : "denied"} word={ok ? "not changed" : "changed"} />
      </h3>
      {files > 0 && <Chain of={of} />}
      {ok ? (
        <p>
          {reason ??
            `${records === 1 ? "One record" : `${records} records`} in ${files === 1 ? "one file" : `${files} files`}: none changed, missing or added up to the last one.`}
          {checkpoints !== undefined && checkpoints > 0 && ` ${checkpoints} signed checkpoints agree.`}
        </p>
      ) : (
        <p class="bad" role="alert">
          Line {firstBadLine ?? "?"} of <Shown text={badFile ?? file} />: <Shown text={reason ?? ""} />. {records}{" "}
          records before it are intact. See more with <Command>{command}</Command>
        </p>
      )}
      {notes.map((note) => (
        <p key={note} class="note">
          <Shown text={note} />
        </p>
      ))}
    </article>
  );
}
