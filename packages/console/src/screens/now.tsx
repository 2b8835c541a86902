// Now: what waits for the person, what is wrong, and what is happening.
import type { JSX } from "preact";
import { Bars, Latency } from "../charts.js";
import { CallsTable } from "../calls-table.js";
import { newest, servers, totals } from "../live.js";
import { Action, Command, Empty, Shown } from "../parts.js";
import { CallFacts } from "../counts.js";
import { Questions } from "../questions.js";
import { post } from "../request.js";
import { go } from "../router.js";
import { decided, troubles } from "../troubles.js";

/** Lines of the list of calls, and questions named that are over: problems are to be seen without scrolling. */
const LATEST = 30;
const ANSWERED = 3;

export function Now(): JSX.Element {
  return (
    <>
      <section aria-labelledby="now-waiting">
        <h2 id="now-waiting">Waiting for you</h2>
        <Questions none={<p class="calm">Nothing waits for your answer.</p>} most={ANSWERED} />
      </section>
      {troubles.value.length > 0 && <Problems />}
      {decided.value.map(({ what, advice, go: screen, query, link }) => (
        <p key={what} class="note">
          <Shown text={what} /> {advice}{" "}
          <button type="button" class="link" onClick={() => go(screen, query)}>
            {link}
          </button>
        </p>
      ))}
      <Activity />
    </>
  );
}

function Problems(): JSX.Element {
  return (
    <section aria-labelledby="now-wrong">
      <h2 id="now-wrong">Problems</h2>
      <ul class="troubles">
        {troubles.value.map(({ what, advice, go: screen, query, link, gone }) => (
          <li key={what}>
            <strong>
              <Shown text={what} />
            </strong>{" "}
            {advice}{" "}
            <button type="button" class="link" onClick={() => go(screen, query)}>
              {link}
            </button>{" "}
            {gone !== undefined && (
              <Action label="Put away" name={`Put away: process ${gone.pid}`} act={() => post("/api/forget", gone)} />
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Activity(): JSX.Element {
  const sums = totals.value;
  const running = servers.value.filter(({ state }) => state === "running").length;
  return (
    <section aria-labelledby="now-happening">
      <h2 id="now-happening">Activity</h2>
      {sums === undefined || sums.calls === 0 ? (
        <NothingYet running={running} />
      ) : (
        <>
          <CallFacts of={sums} before={[["Servers running", running]]} label="Calls in the last hour" />
          <Bars
            buckets={sums.buckets}
            label="calls a minute"
            choose={(since, until) => go("calls", { since, until })}
          />
          <Latency buckets={sums.buckets} />
        </>
      )}
      {newest.value.length > 0 && (
        <CallsTable
          rows={newest.value}
          most={LATEST}
          hasMore={(newest.value.at(-1)?.n ?? 1) > 1}
          choose={(n) => go("calls", { n })}
        />
      )}
    </section>
  );
}

function NothingYet({ running }: { readonly running: number }): JSX.Element {
  if (running > 0)
    return (
      <Empty next="Ask your AI client to use a tool: its call appears here at once.">
        A server runs, and nobody has called a tool in the last hour.
      </Empty>
    );
  return (
    <Empty
      next={
        <>
          Connect a client: <Command>mcp-secure-local serve</Command> prints what to paste. Every server that you start
          appears here.
        </>
      }
    >
      No server of yours runs at the moment.
    </Empty>
  );
}
