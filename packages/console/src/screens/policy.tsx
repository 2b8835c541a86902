// Policy: the file with what each line decided, what it reaches, a question put to it, and a change tried before it is saved.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { JSX } from "preact";
import type { Explanation, PolicyState, Trial } from "../api.js";
import { Reach } from "../charts.js";
import { Action, Brief, Empty, Fault, Moment, Shown, State } from "../parts.js";
import { get, post } from "../request.js";
import { go, place } from "../router.js";

export function Policy(): JSX.Element {
  const policy = useSignal<PolicyState | undefined>(undefined);
  const reach = useSignal<Readonly<Record<string, readonly string[]>>>({});
  const fault = useSignal<unknown>(undefined);
  const saved = useSignal<Saved | undefined>(undefined);
  const load = async (): Promise<void> => {
    try {
      policy.value = await get<PolicyState>("/api/policy");
      if (policy.value.fault === undefined) reach.value = await get("/api/reach");
    } catch (error) {
      fault.value = error;
    }
  };
  useEffect(() => void load(), []);
  const { file, text, fault: wrong } = policy.value ?? {};
  return (
    <>
      <section aria-labelledby="policy-title">
        <h2 id="policy-title">Policy</h2>
        <p>
          {policy.value === undefined
            ? ""
            : (file ?? "The built-in policy. Write your own with mcp-secure-local policy init.")}
        </p>
        <Fault error={fault.value} />
        {wrong !== undefined && (
          <div class="fault" role="alert">
            <p>This policy has faults. Running servers keep the one before.</p>
            <Shown text={wrong} block />
          </div>
        )}
        {text !== undefined && policy.value !== undefined && <Lines of={policy.value} />}
      </section>
      <section aria-labelledby="policy-explain">
        <h2 id="policy-explain">Ask it</h2>
        <Explain />
      </section>
      <section aria-labelledby="policy-reach">
        <h2 id="policy-reach">What it reaches</h2>
        {Object.values(reach.value).every(({ length }) => length === 0) ? (
          <Empty next="Name files, addresses or commands in the policy.">
            It lets nothing outside this program be reached.
          </Empty>
        ) : (
          <Reach of={reach.value} />
        )}
      </section>
      {policy.value !== undefined && file !== undefined && (
        <section aria-labelledby="policy-change">
          <h2 id="policy-change">Change it</h2>
          <Change
            key={policy.value.digest}
            policy={policy.value}
            saved={async (text) => {
              const before = policy.value?.text ?? "";
              await load();
              saved.value = { at: Date.now(), before, text };
            }}
          />
          {saved.value !== undefined && (
            <Undo
              of={saved.value}
              policy={policy.value}
              undone={async () => {
                saved.value = undefined;
                await load();
              }}
            />
          )}
        </section>
      )}
    </>
  );
}

function Lines({ of: { text, decided } }: { readonly of: PolicyState }): JSX.Element {
  const marked = Number(place.value.query.get("line"));
  return (
    <ol class="lines">
      {text.split("\n").map((line, index) => {
        const count = decided[index + 1];
        return (
          <li key={index} class={index + 1 === marked ? "marked" : ""}>
            <code>
              <Shown text={line} />
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
  const kind = useSignal<string>("read");
  const name = useSignal("");
  const args = useSignal("");
  const answer = useSignal<Explanation | undefined>(undefined);
  const fault = useSignal<unknown>(undefined);
  const [, , example, label] = ABOUT.find(([each]) => each === kind.value) ?? ABOUT[0];
  const ask = async (): Promise<void> => {
    [answer.value, fault.value] = [undefined, undefined];
    const given = kind.value === "tool" ? ` ${args.value}` : "";
    try {
      answer.value = await post<Explanation>("/api/explain", { question: `${kind.value} ${name.value}${given}` });
    } catch (error) {
      fault.value = error;
    }
  };
  return (
    <>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          void ask();
        }}
      >
        <label>
          May it
          <select
            value={kind.value}
            onChange={({ currentTarget }) => {
              [kind.value, answer.value] = [currentTarget.value, undefined];
            }}
          >
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
            onInput={({ currentTarget }) => {
              [name.value, answer.value] = [currentTarget.value, undefined];
            }}
          />
        </label>
        {kind.value === "tool" && (
          <label>
            Its arguments, as JSON
            <input
              type="text"
              placeholder='{"query":"x"}'
              value={args.value}
              onInput={({ currentTarget }) => {
                [args.value, answer.value] = [currentTarget.value, undefined];
              }}
            />
          </label>
        )}
        <button type="submit">What decides?</button>
      </form>
      <Fault error={fault.value} />
      {answer.value !== undefined && (
        <div role="status">
          <p>
            <State of={answer.value.verdict === "denied" ? "denied" : "ok"} word={answer.value.verdict} />{" "}
            {answer.value.approval}
          </p>
          <ul>
            {answer.value.steps.map(({ about, allowed, reason, rule, line }, index) => (
              <li key={index}>
                <State of={allowed ? "ok" : "denied"} word={allowed ? "allowed" : "denied"} />{" "}
                <Shown text={`${about}: ${reason} Rule: ${rule}`} />
                {line !== undefined && ` (line ${line})`}
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
}

/** A change that was saved here. */
interface Saved {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly before: string;
  readonly text: string;
}

interface UndoProps {
  readonly of: Saved;
  readonly policy: PolicyState;
  readonly undone: () => Promise<void>;
}

/** Puts the text before back, as long as the file is what was saved. */
function Undo({ of: { at, before, text }, policy, undone }: UndoProps): JSX.Element {
  const undo = async (): Promise<void> => {
    await post("/api/save", { text: before, digest: policy.digest });
    await undone();
  };
  return (
    <p class="answers" role="status">
      <span>
        Saved at <Moment at={at} />.
      </span>
      {policy.text === text && <Action label="Undo" act={undo} />}
    </p>
  );
}

interface ChangeProps {
  readonly policy: PolicyState;
  readonly saved: (text: string) => Promise<void>;
}

function Change({ policy, saved }: ChangeProps): JSX.Element {
  const text = useSignal(policy.text);
  const trial = useSignal<Trial | undefined>(undefined);
  /** The text that was tried: only that one may be saved. */
  const tried = useSignal<string | undefined>(undefined);
  const changed = text.value !== policy.text;
  const tryIt = async (): Promise<void> => {
    const of = text.value;
    trial.value = await post<Trial>("/api/trial", { text: of });
    tried.value = of;
  };
  const save = async (): Promise<void> => {
    await post("/api/save", { text: text.value, digest: policy.digest });
    await saved(text.value);
  };
  const good = trial.value?.faults === "" && tried.value === text.value;
  return (
    <>
      <label class="editor">
        The policy
        <textarea
          rows={14}
          spellcheck={false}
          value={text.value}
          onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        />
      </label>
      <div class="answers">
        <Action label="Try it on the last 1,000 calls" act={tryIt} disabled={!changed} />
        <Action label="Save" kind="good" act={save} disabled={!changed || !good} />
      </div>
      {changed && !good && <p class="note">A change is tried before it is saved.</p>}
      {trial.value !== undefined && <Tried of={trial.value} />}
    </>
  );
}

function Tried({ of: { faults, calls, changed } }: { readonly of: Trial }): JSX.Element {
  if (faults !== "")
    return (
      <div class="fault" role="alert">
        <p>It cannot be used:</p>
        <Shown text={faults} block />
      </div>
    );
  return (
    <div role="status">
      <p>
        Of the last {calls} calls it would have decided {changed.length === 0 ? "none" : changed.length} otherwise.
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
