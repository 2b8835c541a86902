// Counts of calls: the facts over a time, and the table by client, tool or rule. Every screen that counts shows these.
import type { ComponentChildren, JSX } from "preact";
import type { Count, Totals } from "./api.js";
import { Brief, duration, Facts, Moment } from "./parts.js";
import { go } from "./router.js";

interface CallFactsProps {
  readonly of: Totals;
  /** Facts that stand before those of the calls. */
  readonly before?: readonly (readonly [string, ComponentChildren])[];
  /** What the number of calls is called. */
  readonly label?: string;
}

export function CallFacts({ of: sums, before = [], label = "Calls" }: CallFactsProps): JSX.Element {
  return (
    <Facts
      of={[
        ...before,
        [label, sums.calls],
        ["In the last minute", sums.lastMinute],
        ["Denied", sums.denied],
        ["Failed", sums.failed],
        ["You were asked", sums.asked],
        ["Median", duration(sums.p50)],
        ["99 of 100 took at most", duration(sums.p99)],
      ]}
    />
  );
}

interface CountsProps {
  readonly title: string;
  /** The filter of calls that a name is given to. */
  readonly field: string;
  readonly of: readonly Count[];
  readonly since: number | undefined;
  /** What stands for an empty name. */
  readonly none?: string;
}

export function Counts({ title, field, of, since, none = "(none)" }: CountsProps): JSX.Element {
  return (
    <table>
      <caption>{title}</caption>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Calls</th>
          <th scope="col">Denied</th>
          <th scope="col">Failed</th>
          <th scope="col">Last</th>
        </tr>
      </thead>
      <tbody>
        {of.map(({ name, calls, denied, failed, last }) => (
          <tr key={name}>
            <th scope="row">
              <button type="button" class="link" onClick={() => go("calls", { [field]: name || undefined, since })}>
                <Brief text={name === "" ? none : name} />
              </button>
            </th>
            <td>{calls}</td>
            <td class={denied > 0 ? "bad" : ""}>{denied}</td>
            <td class={failed > 0 ? "bad" : ""}>{failed}</td>
            <td>
              <Moment at={last} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
