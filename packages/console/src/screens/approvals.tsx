// Approvals: each call that waits, whole, with what differs from the last approved one, and its answers.
import type { JSX } from "preact";
import { newest } from "../live.js";
import { Empty } from "../parts.js";
import { CallsTable } from "../calls-table.js";
import { Questions } from "../questions.js";
import { go } from "../router.js";

export function Approvals(): JSX.Element {
  const asked = newest.value.filter((row) => row.asked && row.outcome !== "waiting");
  return (
    <>
      <section aria-labelledby="approvals-title">
        <h2 id="approvals-title">Approvals</h2>
        <Questions
          none={
            <Empty next="The section approvals of the policy says which calls you are asked about.">
              No call waits for your answer.
            </Empty>
          }
        />
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
