// What differs between a call and the last one of its tool that a person agreed to.
import type { JSX } from "preact";
import type { CallDetail } from "./api.js";
import { Shown } from "./parts.js";

/** What is not as it was when a person agreed to such a call before. */
export function Difference({ of }: { readonly of: NonNullable<CallDetail["difference"]> }): JSX.Element {
  if (of.length === 0) return <p class="calm">Its arguments are those of the call that was approved last.</p>;
  return (
    <table class="difference">
      <caption>Different from the call of this tool that was approved last</caption>
      <thead>
        <tr>
          <th scope="col">Argument</th>
          <th scope="col">Then</th>
          <th scope="col">Now</th>
        </tr>
      </thead>
      <tbody>
        {of.map(({ name, before, now }) => (
          <tr key={name}>
            <th scope="row">
              <Shown text={name} />
            </th>
            <td class="was">{before === undefined ? "not given" : <Shown text={before} />}</td>
            <td class="is">{now === undefined ? "not given" : <Shown text={now} />}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
