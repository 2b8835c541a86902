// Approvals: each call that waits, whole, with what differs from the last approved one, and its answers.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { JSX } from "preact";
import type { Answer, CallDetail, SettledCall, WaitingCall } from "../api.js";
import { now, newest, settled, waiting } from "../live.js";
import { Action, Empty, Shown, State } from "../parts.js";
import { get, post } from "../request.js";
import { CallsTable } from "../calls-table.js";
import { go } from "../router.js";
import { Difference } from "./calls.js";

export function Approvals(): JSX.Element {
  const asked = newest.value.filter((row) => row.asked && row.outcome !== "waiting");
  return (
    <>
      <section aria-labelledby="approvals-title">
        <h2 id="approvals-title">Approvals</h2>
        {waiting.value.length === 0 ? (
          <Empty next="The section approvals of the policy says which calls you are asked about.">
            No call waits for your answer.
          </Empty>
        ) : (
          waiting.value.map((call) => <Question key={call.id} call={call} />)
        )}
        <JustOver />
      </section>
      {asked.length > 0 && (
        <section aria-labelledby="approvals-past">
          <h2 id="approvals-past">Answered</h2>
          <CallsTable rows={asked} choose={(n) => go("calls", { n })} />
        </section>
      )}
    </>
  );
}

/** Milliseconds that a question which is over stays where it stood: whoever looked away sees what became of it. */
const OVER_MS = 120_000;

/** Whoever had a question before their eyes is told what became of it: also where somebody else answered. */
export function JustOver(): JSX.Element | null {
  const recent = settled.value.filter(({ at }) => now.value - at < OVER_MS);
  return recent.length === 0 ? null : (
    <ul class="over" aria-live="polite">
      {recent.map((each) => (
        <li key={each.id}>
          Question {each.id.slice(0, 4)} {became(each)}.{" "}
          {each.n !== undefined && (
            <button type="button" class="link" onClick={() => go("calls", { n: each.n })}>
              Its call
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}

function became({ answer, reason, by }: SettledCall): JSX.Element {
  const where = by === undefined ? "" : by === "console" ? " in the console" : " in a terminal";
  if (answer !== undefined)
    return (
      <>
        <State of={answer === "deny" ? "denied" : "ok"} word={answer === "deny" ? "was refused" : "was allowed"} />
        {where}
      </>
    );
  return (
    <>
      <State of="denied" word="was refused" />, since <Shown text={reason ?? "it was withdrawn"} />
    </>
  );
}

/** One question. The answer carries the digest of the text that is shown here. */
export function Question({ call }: { readonly call: WaitingCall }): JSX.Element {
  const { id, text, digest, remember, until } = call;
  const detail = useSignal<CallDetail | null>(null);
  useEffect(() => {
    get<CallDetail | null>("/api/asked", { question: id }).then(
      (read) => (detail.value = read),
      () => undefined,
    );
  }, [id]);
  const left = Math.max(0, Math.round((until - now.value) / 1_000));
  const answer = (given: Answer) => async (): Promise<void> =>
    void (await post("/api/answer", { id, digest, answer: given }));
  const difference = detail.value?.difference;
  return (
    <article class="question" aria-labelledby={`question-${id}`}>
      <header>
        <h3 id={`question-${id}`}>
          Question {id.slice(0, 4)} <State of="waiting" />
        </h3>
        <span class="countdown" role="timer">
          refused without an answer in {left} s
        </span>
      </header>
      <Shown text={text} block />
      {difference !== undefined && <Difference of={difference} />}
      {detail.value !== null && difference === undefined && (
        <p class="note">You have agreed to no call of this tool before, as far as the log goes back.</p>
      )}
      <div class="answers">
        <Action label="Allow this one call" kind="good" act={answer("approve")} />
        {remember !== undefined && <Action label={`Allow it ${remember}`} kind="good" act={answer("remember")} />}
        <Action label="Refuse" kind="bad" act={answer("deny")} />
      </div>
    </article>
  );
}
