// Approvals: each call that waits, whole, with what differs from the last approved one, and its answers.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { JSX } from "preact";
import type { Answer, CallDetail, WaitingCall } from "../api.js";
import { now, newest, waiting } from "../live.js";
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
      <div class="answers">
        <Action label="Allow this one call" kind="good" act={answer("approve")} />
        {remember !== undefined && <Action label={`Allow it ${remember}`} kind="good" act={answer("remember")} />}
        <Action label="Refuse" kind="bad" act={answer("deny")} />
      </div>
    </article>
  );
}
