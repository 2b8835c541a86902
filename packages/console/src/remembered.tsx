// The answers that are remembered: what each lets pass without a question, and the way to take it back.
import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { JSX } from "preact";
import type { RememberedAnswer, RememberedAnswers } from "./api.js";
import { newest, settled } from "./live.js";
import { Action, Brief, Facts, Fault, Moment, Shown, visible } from "./parts.js";
import { get, post } from "./request.js";
import { go } from "./router.js";

/** Milliseconds between two looks while nothing is called: the time of one may be over. */
const AGAIN_MS = 5_000;
/** Milliseconds after a change until it is looked at: a burst of calls is one. */
const SOON_MS = 500;

export function Remembered(): JSX.Element {
  const { all, fault, look } = useRemembered();
  const taken = useSignal("");
  const takeBack = (answers: readonly RememberedAnswer[]) => async (): Promise<void> => {
    const [first] = answers;
    await post("/api/take-back", answers.length === 1 && first !== undefined ? { id: first.id } : {});
    taken.value =
      answers.length === 1
        ? `Taken back: ${first?.tool ?? ""}. The next such call asks you again.`
        : `All ${answers.length} were taken back. The next such calls ask you again.`;
    await look();
  };
  const { answers = [], unanswered = [] } = all.value ?? {};
  return (
    <section aria-labelledby="approvals-remembered">
      <h2 id="approvals-remembered">Answers that are remembered</h2>
      <Fault error={fault.value} />
      {unanswered.length > 0 && (
        <p class="note">
          {`${unanswered.length === 1 ? "Process" : "Processes"} ${unanswered.join(", ")} did not say what is remembered there: `}
          it may be busy, or its Redis away. What it remembers ends with it.
        </p>
      )}
      {all.value !== undefined && unanswered.length === 0 && answers.length === 0 && (
        <p class="calm">None: each call that needs your answer asks for it.</p>
      )}
      <p role="status">{taken.value !== "" && <Brief text={taken.value} />}</p>
      {answers.map((each) => (
        <Answer key={each.id} of={each} takeBack={takeBack([each])} />
      ))}
      {answers.length > 1 && <Action label={`Take back all ${answers.length}`} kind="bad" act={takeBack(answers)} />}
    </section>
  );
}

interface Looked {
  readonly all: Signal<RememberedAnswers | undefined>;
  readonly fault: Signal<unknown>;
  readonly look: () => Promise<void>;
}

/** What the servers remember now: looked at after each call and each answer, and once in a while. */
function useRemembered(): Looked {
  const all = useSignal<RememberedAnswers | undefined>(undefined);
  const fault = useSignal<unknown>(undefined);
  const look = async (): Promise<void> => {
    try {
      [all.value, fault.value] = [await get<RememberedAnswers>("/api/remembered"), undefined];
    } catch (error) {
      fault.value = error;
    }
  };
  useEffect(() => {
    let soon: ReturnType<typeof setTimeout> | undefined;
    void look();
    const changed = (): void => void (soon ??= setTimeout(() => ((soon = undefined), void look()), SOON_MS));
    const ends = [newest.subscribe(changed), settled.subscribe(changed)];
    const timer = setInterval(() => void look(), AGAIN_MS);
    return () => {
      for (const end of ends) end();
      clearTimeout(soon);
      clearInterval(timer);
    };
  }, []);
  return { all, fault, look };
}

interface AnswerProps {
  readonly of: RememberedAnswer;
  readonly takeBack: () => Promise<void>;
}

const WHERE = { client: "by the client's own form", terminal: "in a terminal", console: "in the console" } as const;

function Answer({ of, takeBack }: AnswerProps): JSX.Element {
  const { id, tool, about, client, principal, actor, profile, by, at, until, used, lastUsed, isVoid, n } = of;
  const who = [actor, client, principal].filter((each) => each !== "").join(", ");
  return (
    <article class="process" aria-labelledby={`remembered-${id}`}>
      <h3 id={`remembered-${id}`}>
        <Shown text={tool} />
      </h3>
      {isVoid && (
        <p class="note">The policy has changed since: this answer lets nothing pass while that is in force.</p>
      )}
      <Shown text={about} block />
      <Facts
        of={[
          ["For", who === "" ? "its client" : who],
          ["Profile", profile],
          [
            "Answered",
            <>
              <Moment at={at} /> {WHERE[by]}
            </>,
          ],
          ["Until", until === undefined ? "the end of its session" : <Moment at={until} />],
          [
            "It has let pass",
            used === 0 ? (
              "nothing"
            ) : (
              <button type="button" class="link" onClick={() => go("calls", { remembered: id })}>
                {used === 1 ? "one call" : `${used} calls`}
              </button>
            ),
          ],
          ["Last", lastUsed === undefined ? "" : <Moment at={lastUsed} />],
        ]}
      />
      <p class="answers">
        <Action label="Take back" name={`Take back: ${visible(tool)}, ${id.slice(0, 4)}`} kind="bad" act={takeBack} />
        {n !== undefined && (
          <button type="button" class="link" onClick={() => go("calls", { n })}>
            The call that was asked about
          </button>
        )}
      </p>
    </article>
  );
}
