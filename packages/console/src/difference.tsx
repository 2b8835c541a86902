// What differs between a call and the last one of its tool that a person agreed to.
import type { JSX } from "preact";
import type { CallDetail } from "./api.js";
import { Shown } from "./parts.js";
import { type Piece, wordDiff } from "./word-diff.js";

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
            <Value of={before} other={now} name="Then" />
            <Value of={now} other={before} name="Now" />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Characters of a value whose words are compared. */
const MAX_COMPARED = 4_000;

interface ValueProps {
  readonly of: string | undefined;
  readonly other: string | undefined;
  readonly name: "Then" | "Now";
}

/** On a narrow page the headings are gone, and each value has its own. */
function Value({ of, other, name }: ValueProps): JSX.Element {
  const isNow = name === "Now";
  const long = Math.max(of?.length ?? 0, other?.length ?? 0) > MAX_COMPARED;
  const diff =
    of === undefined || other === undefined || long ? undefined : wordDiff(isNow ? other : of, isNow ? of : other);
  return (
    <td class={isNow ? "is" : "was"}>
      <span class="narrow-only">{name}: </span>
      {of === undefined ? (
        "not given"
      ) : diff === undefined ? (
        <Shown text={of} />
      ) : (
        (isNow ? diff.now : diff.before).map((piece, index) => <Words key={index} of={piece} isNow={isNow} />)
      )}
    </td>
  );
}

function Words({ of: { text, differs }, isNow }: { readonly of: Piece; readonly isNow: boolean }): JSX.Element {
  if (!differs) return <Shown text={text} />;
  const Tag = isNow ? "ins" : "del";
  return (
    <Tag>
      <Shown text={text} />
    </Tag>
  );
}
