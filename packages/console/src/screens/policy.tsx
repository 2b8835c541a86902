// Policy: the file with what each line decided, what it reaches, a question put to it, and a change tried before it is saved.
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { JSX } from "preact";
import type { Explanation, PolicyState, ReachedKind, Trial } from "../api.js";
import { isPartial } from "../counts.js";
import { draft, tried } from "../draft.js";
import { servers } from "../live.js";
import { Action, Brief, Empty, Fault, Moment, Shown, State } from "../parts.js";
import { asksFor, ForWhom, profileAsked } from "../for-whom.js";
import { Reach } from "../reach.js";
import { get, post } from "../request.js";
import { go, place } from "../router.js";

export function Policy(): JSX.Element {
  const profile = profileAsked();
  const { policy, reach, fault, load } = usePolicy(profile);
  const { file, text, fault: wrong } = policy ?? {};
  return (
    <>
      <section aria-labelledby="policy-title">
        <h2 id="policy-title">Policy</h2>
        <p>
          {policy === undefined
            ? ""
            : (file ?? "The built-in policy. Write your own with mcp-secure-local policy init.")}
        </p>
        <p>{policy !== undefined && <InForce of={policy} />}</p>
        <Fault error={fault} />
        {wrong !== undefined && (
          <div class="fault" role="alert">
            <p>This policy has faults. Running servers keep the one before.</p>
            <Shown text={wrong} block />
          </div>
        )}
        {text !== undefined && policy !== undefined && <Lines of={policy} />}
      </section>
      <section aria-labelledby="policy-explain">
        <h2 id="policy-explain">Ask it</h2>
        <ForWhom profiles={policy?.profiles ?? []} />
        <Explain key={profile} />
      </section>
      <WhatItReaches reach={reach} hasFaults={wrong !== undefined} />
      {policy !== undefined && file !== undefined && (
        <section aria-labelledby="policy-change">
          <h2 id="policy-change">Change it</h2>
          <Change policy={policy} load={load} />
        </section>
      )}
    </>
  );
}

interface PolicyRead {
  readonly policy: PolicyState | undefined;
  /** Undefined until it is known, and for a policy with faults. */
  readonly reach: readonly ReachedKind[] | undefined;
  readonly fault: unknown;
  readonly load: () => Promise<void>;
}

/** The policy and what it reaches for a profile, read anew when somebody may have changed it. */
function usePolicy(profile: string): PolicyRead {
  const policy = useSignal<PolicyState | undefined>(undefined);
  const reach = useSignal<readonly ReachedKind[] | undefined>(undefined);
  const fault = useSignal<unknown>(undefined);
  const load = async (): Promise<void> => {
    try {
      policy.value = await get<PolicyState>("/api/policy");
      [reach.value, fault.value] = [undefined, undefined];
      if (policy.value.fault !== undefined) return;
      const found = await get<readonly ReachedKind[]>("/api/reach", { profile });
      // Whoever chose another profile meanwhile is shown that one's.
      if (profile === profileAsked()) reach.value = found;
    } catch (error) {
      fault.value = error;
    }
  };
  // A server that has taken up another text tells of a file that was changed, whoever did it.
  const taken = servers.value
    .filter(({ policy: { file: of } }) => of === policy.value?.file)
    .map(({ policy: { hash } }) => hash)
    .join(" ");
  useEffect(() => void load(), [profile, taken]);
  useEffect(() => {
    const look = (): void => void load();
    addEventListener("focus", look);
    return () => removeEventListener("focus", look);
  }, [profile]);
  return { policy: policy.value, reach: reach.value, fault: fault.value, load };
}

interface WhatItReachesProps {
  readonly reach: readonly ReachedKind[] | undefined;
  readonly hasFaults: boolean;
}

function WhatItReaches({ reach, hasFaults }: WhatItReachesProps): JSX.Element {
  return (
    <section aria-labelledby="policy-reach">
      <h2 id="policy-reach">What it reaches</h2>
      <p>
        For <Shown text={asksFor()} />.
      </p>
      {reach === undefined && (
        <p class="note">{hasFaults ? "A policy with faults reaches nothing new." : "Reading the policy …"}</p>
      )}
      {reach?.length === 0 && (
        <Empty next="Name files, addresses or commands in the policy.">
          It lets nothing outside this program be reached.
        </Empty>
      )}
      {reach !== undefined && reach.length > 0 && <Reach of={reach} who={profileAsked() || "AI client"} />}
    </section>
  );
}

/** Which running servers decide by the text that is shown: each takes a new one by itself, a moment after it was saved. */
function InForce({ of: { file, hash, fault } }: { readonly of: PolicyState }): JSX.Element | null {
  const serving = servers.value.filter((each) => each.state === "running" && each.policy.file === file);
  if (file === undefined || fault !== undefined || serving.length === 0) return null;
  const late = serving.filter((each) => each.policy.hash !== hash).map(({ pid }) => pid);
  const all = serving.length === 1 ? "the one server" : `all ${serving.length} servers`;
  return (
    <span class={late.length === 0 ? "note" : "bad"} role="status">
      {late.length === 0
        ? `In force in ${all} that ${serving.length === 1 ? "runs" : "run"} with it.`
        : `Not in force yet in process ${late.join(", ")}: ${late.length === 1 ? "it decides" : "they decide"} by the text before.`}
    </span>
  );
}

function Lines({ of: { text, decided, since } }: { readonly of: PolicyState }): JSX.Element {
  const marked = Number(place.value.query.get("line"));
  const line = useRef<HTMLLIElement>(null);
  useEffect(() => line.current?.scrollIntoView({ block: "center" }), [marked]);
  return (
    <>
      <ol class="lines">
        {text.split("\n").map((each, index) => {
          const count = decided[index + 1];
          const isMarked = index + 1 === marked;
          return (
            <li key={index} class={isMarked ? "marked" : ""} {...(isMarked ? { ref: line } : {})}>
              <code>
                <Shown text={each} />
              </code>
              {count !== undefined && (
                <button type="button" class="link" onClick={() => go("calls", { line: index + 1 })}>
                  {count.allowed > 0 && `${count.allowed} allowed`}{" "}
                  {count.denied > 0 && <span class="bad">{count.denied} denied</span>}
                </button>
              )}
            </li>
          );
        })}
      </ol>
      {since !== undefined && (
        <p class="note">
          Counted are the calls{isPartial() && " that are here, complete"} since <Moment at={since} /> that these very
          words decided, wherever in the file they stood. What other words decided is not counted.
        </p>
      )}
    </>
  );
}

/** What may be asked about: the word that `policy explain` has for it, and what belongs into the field. */
const ABOUT = [
  ["tool", "call a tool", "web_search", "The tool"],
  ["read", "read a file", "~/notes/plan.md", "The path"],
  ["write", "write a file", "~/notes/plan.md", "The path"],
  ["delete", "delete a file", "~/notes/plan.md", "The path"],
  ["list", "list a folder", "~/notes", "The path"],
  ["fetch", "fetch an address", "https://example.com/", "The address"],
  ["run", "run a command", "git log", "The command"],
  ["prompt", "use a prompt", "code_review", "The prompt"],
  ["resource", "read a resource", "file:///notes/plan.md", "The URI"],
] as const;

function Explain(): JSX.Element {
  const answer = useSignal<Explanation | undefined>(undefined);
  const fault = useSignal<unknown>(undefined);
  const ask = async (question: string): Promise<void> => {
    [answer.value, fault.value] = [undefined, undefined];
    try {
      answer.value = await post<Explanation>("/api/explain", { question, profile: profileAsked() });
    } catch (error) {
      fault.value = error;
    }
  };
  return (
    <>
      <Asking ask={ask} changed={() => (answer.value = undefined)} />
      <Fault error={fault.value} />
      {answer.value !== undefined && <Explained of={answer.value} />}
    </>
  );
}

interface AskingProps {
  readonly ask: (question: string) => Promise<void>;
  /** Told when the question is another one by now. */
  readonly changed: () => void;
}

/** The question, in the words that `policy explain` has for it. */
function Asking({ ask, changed }: AskingProps): JSX.Element {
  const kind = useSignal<string>("read");
  const name = useSignal("");
  const args = useSignal("");
  const [, , example, label] = ABOUT.find(([each]) => each === kind.value) ?? ABOUT[0];
  const set = (field: Signal<string>) => (value: string) => {
    field.value = value;
    changed();
  };
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        void ask(`${kind.value} ${name.value}${kind.value === "tool" ? ` ${args.value}` : ""}`);
      }}
    >
      <label>
        May it
        <select value={kind.value} onChange={({ currentTarget }) => set(kind)(currentTarget.value)}>
          {ABOUT.map(([each, words]) => (
            <option key={each} value={each}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <label>
        {label}
        <input
          type="text"
          required
          placeholder={example}
          value={name.value}
          onInput={({ currentTarget }) => set(name)(currentTarget.value)}
        />
      </label>
      {kind.value === "tool" && <Arguments value={args.value} change={set(args)} />}
      <button type="submit">What decides?</button>
    </form>
  );
}

interface ArgumentsProps {
  readonly value: string;
  readonly change: (value: string) => void;
}

function Arguments({ value, change }: ArgumentsProps): JSX.Element {
  return (
    <label>
      Its arguments, as JSON
      <input
        type="text"
        placeholder='{"query":"x"}'
        value={value}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
    </label>
  );
}

function Explained({ of }: { readonly of: Explanation }): JSX.Element {
  return (
    <div role="status">
      <p>
        For <Shown text={asksFor()} />: <State of={of.verdict === "denied" ? "denied" : "ok"} word={of.verdict} />{" "}
        {of.approval}
      </p>
      <ul>
        {of.steps.map(({ about, allowed, reason, rule, line }, index) => (
          <li key={index}>
            <State of={allowed ? "ok" : "denied"} word={allowed ? "allowed" : "denied"} />{" "}
            <Shown text={`${about}: ${reason} Rule: ${rule}`} />
            {line !== undefined && ` (line ${line})`}
          </li>
        ))}
      </ul>
    </div>
  );
}

interface ChangeProps {
  readonly policy: PolicyState;
  readonly load: () => Promise<void>;
}

function Change({ policy, load }: ChangeProps): JSX.Element {
  /** When a change was undone here, in milliseconds since 1970. */
  const undone = useSignal<number | undefined>(undefined);
  const text = draft.value?.text ?? policy.text;
  const isChanged = draft.value !== undefined;
  const isStale = isChanged && draft.value?.digest !== policy.digest;
  const now = tried.value?.text === text && isChanged ? tried.value.trial : undefined;
  const tryIt = async (): Promise<void> => {
    tried.value = { text, trial: await post<Trial>("/api/trial", { text }) };
  };
  const save = async (): Promise<void> => {
    await post("/api/save", { text, digest: policy.digest });
    [draft.value, undone.value] = [undefined, undefined];
    await load();
  };
  return (
    <>
      <label class="editor">
        The policy
        <textarea
          rows={14}
          spellcheck={false}
          value={text}
          onInput={({ currentTarget: { value } }) => {
            const digest = draft.value?.digest ?? policy.digest;
            draft.value = value === policy.text ? undefined : { text: value, digest };
          }}
        />
      </label>
      <div class="answers">
        <Action label="Try it on the last 1,000 calls" act={tryIt} disabled={!isChanged} />
        <Action label="Save" kind="good" act={save} disabled={isStale || now?.faults !== ""} />
        {isChanged && (
          <button type="button" onClick={() => (draft.value = undefined)}>
            Drop this change
          </button>
        )}
      </div>
      {isStale && <p class="bad">The file was changed since this change was begun, so it cannot be saved. Drop it.</p>}
      {isChanged && (
        <p class="note">
          This change is not saved. It stays here while you look at other screens.
          {now?.faults !== "" && " A change is tried before it is saved."}
        </p>
      )}
      {now !== undefined && <Tried of={now} />}
      <Undo policy={policy} undone={undone} load={load} />
    </>
  );
}

interface UndoProps extends ChangeProps {
  readonly undone: Signal<number | undefined>;
}

/** Puts the text before back, as long as the file is what was saved: here, in another page, or before this one was loaded. */
function Undo({ policy, undone, load }: UndoProps): JSX.Element | null {
  const { saved, digest } = policy;
  const undo = async (): Promise<void> => {
    await post("/api/undo", { digest });
    undone.value = Date.now();
    await load();
  };
  if (saved === undefined && undone.value === undefined) return null;
  return (
    <p class="answers" role="status">
      {saved === undefined ? (
        <span>
          Undone at <Moment at={undone.value ?? 0} />: the file is as it was before.
        </span>
      ) : (
        <>
          <span>
            Saved at <Moment at={saved.at} />.
          </span>
          <Action label="Undo" act={undo} />
        </>
      )}
      <InForce of={policy} />
    </p>
  );
}

function Tried({ of: { faults, calls, untried, older, since, changed } }: { readonly of: Trial }): JSX.Element {
  const result = useRef<HTMLDivElement>(null);
  // It stands below a long text: who tried it looks for the answer, not for where it is.
  useEffect(() => result.current?.scrollIntoView({ block: "nearest" }), [changed, faults]);
  if (faults !== "")
    return (
      <div ref={result} class="fault" role="alert">
        <p>It cannot be used:</p>
        <Shown text={faults} block />
      </div>
    );
  return (
    <div ref={result} role="status">
      <p>
        Of the last {calls} calls under this policy it would have decided{" "}
        {changed.length === 0 ? "none" : changed.length} differently.
        {older > 0 && since !== undefined && (
          <>
            {" "}
            They reach back to <Moment at={since} dated />: {older} older ones were not tried.
          </>
        )}
      </p>
      <p class="note">
        Rate limits are counted as well. Not tried: time limits, what you would have answered, and what servers and
        plugins do behind a call
        {untried === 0 ? "." : `; ${untried} of the last requests are no calls, and were left out.`}
      </p>
      <ul>
        {changed.map(({ row, before, now, rule }) => (
          <li key={row.n}>
            <button type="button" class="link" onClick={() => go("calls", { n: row.n })}>
              <Brief text={`${row.name} ${row.object}`} />
            </button>
            : {before} by the policy in force, by this text <State of={now === "denied" ? "denied" : "ok"} word={now} />{" "}
            <Shown text={rule} />
          </li>
        ))}
      </ul>
    </div>
  );
}
