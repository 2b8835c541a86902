// What differs between a call and the last one of its tool that a person agreed to.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { CallDetail, DifferentArgument } from "./api.js";
import { Shown, visible } from "./parts.js";
import { type Piece, wordDiff } from "./word-diff.js";

interface DifferenceProps {
  readonly of: NonNullable<CallDetail["difference"]>;
  /** Whether the log left out something of either call. */
  readonly isPartly: boolean;
}

/** What is not as it was when a person agreed to such a call before. */
export function Difference({ of, isPartly }: DifferenceProps): JSX.Element {
  const partly = " The log leaves out secrets and what is long: there they may differ.";
  if (of.length === 0)
    return (
      <p class="calm">
        Its arguments are those of the call that was approved last{isPartly ? ", as far as the log has them." : "."}
        {isPartly && partly}
      </p>
    );
  const rows = (
    <table class="difference">
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
            <Both before={before} now={now} />
          </tr>
        ))}
      </tbody>
    </table>
  );
  const length = of.reduce((sum, { before = "", now = "" }) => sum + before.length + now.length, 0);
  return (
    <>
      {/* A long one would push the answers away from the question. */}
      <details open={length <= MAX_OPEN}>
        <summary>
          Different from the call of this tool that was approved last: {of.map(({ name }) => visible(name)).join(", ")}
        </summary>
        {rows}
      </details>
      {isPartly && <p class="note">{partly}</p>}
    </>
  );
}

/** Characters of a difference that is shown without being asked for. */
const MAX_OPEN = 600;
/** Characters of a text whose words are compared: what a person is asked about is no longer. */
export const MAX_COMPARED: number = 65_536;
/** Characters that stand beside a difference on each side; more of what is the same is left out. */
const BESIDE = 80;

function Both({ before, now }: Pick<DifferentArgument, "before" | "now">): JSX.Element {
  const long = Math.max(before?.length ?? 0, now?.length ?? 0) > MAX_COMPARED;
  const diff = useMemo(
    () => (before === undefined || now === undefined || long ? undefined : wordDiff(before, now)),
    [before, now],
  );
  return (
    <>
      <Value of={before} pieces={diff?.before} name="Then" Tag="del" />
      <Value of={now} pieces={diff?.now} name="Now" Tag="ins" />
    </>
  );
}

interface ValueProps {
  readonly of: string | undefined;
  readonly pieces: readonly Piece[] | undefined;
  readonly name: "Then" | "Now";
  readonly Tag: "del" | "ins";
}

/** On a narrow page the headings are gone, and each value has its own. */
function Value({ of, pieces, name, Tag }: ValueProps): JSX.Element {
  return (
    <td class={Tag === "ins" ? "is" : "was"}>
      <span class="narrow-only">{name}: </span>
      {of === undefined ? "not given" : pieces === undefined ? <Shown text={of} /> : <Folded of={pieces} Tag={Tag} />}
    </td>
  );
}

interface FoldedProps {
  readonly of: readonly Piece[];
  /** What differs is put into. */
  readonly Tag: "del" | "ins" | "mark";
}

/** One of two texts, with what differs marked, and of what is the same only the words beside it. */
export function Folded({ of, Tag }: FoldedProps): JSX.Element {
  return (
    <>
      {of.map(({ text, differs }, index) =>
        differs ? (
          <Differing key={index} text={text} Tag={Tag} />
        ) : (
          <Same key={index} text={text} isFirst={index === 0} isLast={index === of.length - 1} />
        ),
      )}
    </>
  );
}

/** Words without the blanks around them: those belong to the next line. Blanks alone are what differs. */
export function Differing({ text, Tag }: { readonly text: string; readonly Tag: FoldedProps["Tag"] }): JSX.Element {
  const words = text.trim() === "" ? text : text.trim();
  const at = text.indexOf(words);
  return (
    <>
      {text.slice(0, at)}
      <Tag>
        <Shown text={words} complete />
      </Tag>
      {text.slice(at + words.length)}
    </>
  );
}

interface SameProps {
  readonly text: string;
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

/** Words that both have; of many those beside a difference. */
function Same({ text, isFirst, isLast }: SameProps): JSX.Element {
  const [from, to] = [isFirst ? 0 : BESIDE, isLast ? 0 : BESIDE];
  const left = text.length - from - to;
  if (left <= BESIDE) return <Shown text={text} />;
  return (
    <>
      <Shown text={text.slice(0, from)} /> <em class="same">[{left} characters are the same]</em>{" "}
      <Shown text={text.slice(text.length - to)} />
    </>
  );
}
