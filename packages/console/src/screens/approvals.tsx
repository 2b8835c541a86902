// Approvals: each call that waits, whole, with what differs from the last approved one, and its answers; below, what is remembered, and
// those that were answered.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { JSX } from "preact";
import type { CallRow } from "../api.js";
import { settled } from "../live.js";
import { Empty, Fault } from "../parts.js";
import { Remembered } from "../remembered.js";
import { CallsTable } from "../calls-table.js";
import { Questions } from "../questions.js";
import { get } from "../request.js";
import { go } from "../router.js";

/** Milliseconds after an answer in which its call ends, as most do. */
const ENDING_MS = 1_500;

export function Approvals(): JSX.Element {
  const asked = useSignal<readonly CallRow[]>([]);
  const fault = useSignal<unknown>(undefined);
  const answered = settled.value[0]?.id;
  useEffect(() => {
    const look = (): void =>
      void get<CallRow[]>("/api/calls", { asked: "yes" }).then(
        (read) => (asked.value = read.filter(({ outcome }) => outcome !== "waiting")),
        (error: unknown) => (fault.value = error),
      );
    look();
    const timer = setTimeout(look, ENDING_MS);
    return () => clearTimeout(timer);
  }, [answered]);
  return (
    <>
      <section aria-labelledby="approvals-title">
        <h2 id="approvals-title">Approvals</h2>
        <p class="note">
          An answer here counts as one in a terminal of this machine: for the policy both are the same.
        </p>
        <Questions
          none={
            <Empty next="The section approvals of the policy says which calls you are asked about.">
              No call waits for your answer.
            </Empty>
          }
        />
      </section>
      <Remembered />
      <Fault error={fault.value} />
      {asked.value.length > 0 && (
        <section aria-labelledby="approvals-past">
          <h2 id="approvals-past">Answered</h2>
          <CallsTable rows={asked.value} choose={(n) => go("calls", { n })} />
        </section>
      )}
    </>
  );
}
