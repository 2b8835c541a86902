// Whether the logs are as they were written: what the last check found, what the console itself saw change, and the record where a chain breaks.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { JSX } from "preact";
import type { LogRecordShown, LogState, Verification } from "./api.js";
import { Chain } from "./charts.js";
import { logs, verified } from "./live.js";
import { Action, Brief, Command, Moment, Shown, State } from "./parts.js";
import { get, post } from "./request.js";
import { go } from "./router.js";

/** Logs that are as they were, each drawn; of more there is a line to open. */
const MAX_DRAWN = 2;

export function isChanged(): boolean {
  return (
    verified.value?.found.some(({ ok }) => !ok) === true || logs.value.some(({ changed }) => changed !== undefined)
  );
}

/** Of a check that was asked for on this page the answer is to be seen, wherever it stands. */
let isAsked = false;
/** When the check before it was made: that one may come once more while this one runs. */
let before: number | undefined;

async function verify(): Promise<void> {
  isAsked = true;
  before = verified.value?.at;
  await post("/api/verify", {});
}

/** The worst first. */
export function Proof(): JSX.Element {
  const proof = verified.value;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (!isAsked || proof === undefined || proof.at === before || Date.now() - proof.at > FRESH_MS) return;
    isAsked = false;
    heading.current?.focus();
    heading.current?.scrollIntoView({ block: "start" });
  }, [proof]);
  const changed = logs.value.filter(
    (each) => each.changed !== undefined && !proof?.found.some(({ file, ok }) => file === each.file && !ok),
  );
  const broken = proof?.found.filter(({ ok }) => !ok) ?? [];
  const intact = proof?.found.filter(({ ok, file }) => ok && !changed.some((each) => each.file === file)) ?? [];
  const unknown = logs.value.filter(({ file }) => !proof?.found.some((each) => each.file === file));
  return (
    <section aria-labelledby="audit-chain">
      <h2 id="audit-chain" ref={heading} tabIndex={-1}>
        <WasItChanged />
      </h2>
      {changed.map((each) => (
        <SeenChanged key={each.file} of={each} />
      ))}
      {broken.map((each) => (
        <Broken key={each.file} of={each} />
      ))}
      {broken.length > 0 && proof !== undefined && (
        <p class="note">
          Verified at <Moment at={proof.at} />.
        </p>
      )}
      <Intact of={intact} />
      <p>
        Each record carries the hash of the one before it. A record that was changed, removed or added breaks the chain.
        What happens to the log after it was verified shows when it is verified again.
      </p>
      {isChanged() && <Action label="Verify every record" act={verify} />}
      <Unverified of={unknown} />
    </section>
  );
}

/** Whether the log was changed, in a few words. */
function WasItChanged(): JSX.Element {
  if (isChanged()) return <span class="bad">The log was changed</span>;
  const { at } = verified.value ?? {};
  if (at === undefined) return <>Was the log changed?</>;
  return (
    <>
      Nobody had changed the log when it was verified, at <Moment at={at} />
    </>
  );
}

/** A log that the console itself saw change. */
function SeenChanged({ of: { file, changed = "" } }: { readonly of: LogState }): JSX.Element {
  return (
    <article class="broken">
      <h3>
        <Shown text={file} /> <State of="denied" word="changed" />
      </h3>
      <p class="bad" role="alert">
        <Shown text={changed} />.
      </p>
    </article>
  );
}

/** The same in a line, where all of it stands further below. */
export function ProofInBrief(): JSX.Element {
  const { at } = verified.value ?? {};
  return (
    <p class="answers">
      <span>
        {at === undefined ? (
          "Whether the log was changed is not known before it is verified."
        ) : (
          <>
            Nobody had changed the log when it was verified, at <Moment at={at} />.
          </>
        )}
      </span>
      <Action label="Verify every record" act={verify} />
    </p>
  );
}

/** Milliseconds after which a check is not the one that was asked for a moment ago. */
const FRESH_MS = 60_000;

function Intact({ of }: { readonly of: readonly Verification[] }): JSX.Element {
  const drawn = of.map((each) => <Verified key={each.file} of={each} />);
  if (of.length <= MAX_DRAWN) return <>{drawn}</>;
  return (
    <>
      <p>
        {of.length} {isChanged() ? "other logs" : "logs"}: none was changed.
      </p>
      <ul>
        {of.map((each) => (
          <li key={each.file}>
            <Shown text={each.file} />: {signedIn(each)}
          </li>
        ))}
      </ul>
      <details>
        <summary>All of them as pictures</summary>
        {drawn}
      </details>
    </>
  );
}

/** How many records of a log there are, and up to which one somebody signed. */
function signedIn({ records, signed = [] }: Verification): string {
  const count = records === 1 ? "one record" : `${records} records`;
  const last = signed.at(-1);
  if (last === undefined) return `${count}, none signed`;
  return last >= records ? `${count}, signed up to the last one` : `${count}, signed up to record ${last}`;
}

/** Whether a log is known to be another than it was written, and how. */
export function changeOf(file: string): string | undefined {
  const bad = verified.value?.found.find((each) => each.file === file && !each.ok);
  const line = bad?.firstBadLine === undefined ? "" : `line ${bad.firstBadLine}: `;
  return bad === undefined
    ? logs.value.find((each) => each.file === file)?.changed
    : `${line}${bad.reason ?? "it does not verify"}`;
}

/** Logs that no check has read yet; of many those that cannot be read stand first, and their number above. */
function Unverified({ of }: { readonly of: readonly LogState[] }): JSX.Element {
  const lines = [...of].sort((a, b) => Number(b.fault !== undefined) - Number(a.fault !== undefined));
  const list = (
    <ul>
      {lines.map(({ file, records, fault: why }) => (
        <li key={file}>
          <Shown text={`${file}: ${why ?? `${records} records, not verified yet`}`} />
        </li>
      ))}
    </ul>
  );
  if (of.length <= MAX_DRAWN) return list;
  const records = of.reduce((sum, each) => sum + each.records, 0);
  return (
    <details>
      <summary>
        {of.length} logs with {records} records, not verified yet
      </summary>
      {list}
    </details>
  );
}

function Notes({ of }: { readonly of: readonly string[] }): JSX.Element {
  return (
    <>
      {of.map((note) => (
        <p key={note} class="note">
          <Shown text={note} />
        </p>
      ))}
    </>
  );
}

function Verified({ of }: { readonly of: Verification }): JSX.Element {
  const { file, records, files, checkpoints, signed = [], reason, notes } = of;
  const last = signed.at(-1);
  return (
    <article class="verified">
      <h3>
        <Shown text={file} /> <State of="ok" word="not changed" />
      </h3>
      {files > 0 && <Chain of={of} />}
      <p>
        {reason ??
          `${records === 1 ? "One record" : `${records} records`} in ${files === 1 ? "one file" : `${files} files`}: none changed, missing or added up to the last one.`}
        {checkpoints !== undefined &&
          checkpoints > 0 &&
          ` ${checkpoints === 1 ? "One signed checkpoint agrees" : `${checkpoints} signed checkpoints agree`}.`}
        {last !== undefined &&
          (last >= records
            ? " It is signed up to its last record."
            : ` It is signed up to record ${last}: whether any was cut from its end after that, no signature tells.`)}
      </p>
      <Notes of={notes} />
    </article>
  );
}

function Broken({ of }: { readonly of: Verification }): JSX.Element {
  const { file, records, files, badFile, firstBadLine, reason, notes, command } = of;
  return (
    <article class="broken">
      <h3>
        <Shown text={file} /> <State of="denied" word="changed" />
      </h3>
      {files > 0 && <Chain of={of} />}
      <p class="bad" role="alert">
        {firstBadLine !== undefined && (
          <>
            Line {firstBadLine} of <Shown text={badFile ?? file} />:{" "}
          </>
        )}
        <Shown text={reason ?? ""} />. {records} records before it are intact. See more with{" "}
        <Command>{command}</Command>
      </p>
      {firstBadLine !== undefined && <BadRecord file={badFile ?? file} line={firstBadLine} />}
      <Notes of={notes} />
    </article>
  );
}

/** The record where the chain breaks, as it stands there now, and the call that was read there before. */
function BadRecord({ file, line }: { readonly file: string; readonly line: number }): JSX.Element {
  const found = useSignal<LogRecordShown | undefined>(undefined);
  const read = async (): Promise<void> => {
    found.value = await get<LogRecordShown>("/api/record", { file, line });
  };
  if (found.value === undefined) return <Action label={`Open line ${line}`} act={read} />;
  const { text, call } = found.value;
  const isSeen = logs.value.some((each) => each.file === file && each.changed !== undefined);
  return (
    <>
      <p>
        {call === undefined ? (
          "This console has read no call at this place."
        ) : (
          <>
            {isSeen ? "Before it was changed, this console read" : "When it was first read here, there stood"} a record
            of the call{" "}
            <button type="button" class="link" onClick={() => go("calls", { n: call.n })}>
              <Brief text={`${call.name === "" ? call.method : call.name} ${call.object}`} />
            </button>{" "}
            of <Moment at={call.at} />
            {isSeen ? " here. " : ". It may have been changed by then: what stood there before is not known. "}
            Now there stands:
          </>
        )}
      </p>
      <Shown text={text} block />
    </>
  );
}
