// What changed in one item of a plugin or server, drawn for the person who approves it: its words before and now, its files, and what the inspection found. It decides nothing.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { ChangedFile, ChangedFiles, ChangedLine, DefinitionFinding, OfferedItem } from "./api.js";
import { type Mark, marksIn } from "./marks.js";
import { Shown, State } from "./parts.js";
import { wordDiff } from "./word-diff.js";

type Place = OfferedItem["places"][number];

/** Of more files each is opened by the person. */
const MOST_OPEN = 5;

/** Which files of a program changed, and how: its digest alone says nothing to a person. */
export function Files({ of: { told, hidden } }: { readonly of: ChangedFiles }): JSX.Element {
  return (
    <div class="files">
      {told.length > 0 && <p>Its files that are not as they were approved:</p>}
      {told.length + hidden.length === 0 && <p>No file of it differs: what changed is a folder.</p>}
      {told.map((file) => (
        <OneFile key={file.path} of={file} isOpen={told.length <= MOST_OPEN} />
      ))}
      {hidden.length > 0 && (
        <p class="note">
          <strong>Not all that changed is shown.</strong> Missing: {hidden.join("; ")}.
        </p>
      )}
    </div>
  );
}

function OneFile({ of, isOpen }: { readonly of: ChangedFile; readonly isOpen: boolean }): JSX.Element {
  const { path, kind, runs, lines = [], more = 0, unshown } = of;
  return (
    <details open={isOpen}>
      <summary>
        {kind} <Shown text={path === "" ? "the program" : path} />
        {runs !== undefined && (runs ? ", may be run" : ", may not be run any more")}
      </summary>
      {lines.length > 0 && (
        <pre class="shown" dir="ltr" tabIndex={0}>
          {lines.map((line, index) => (
            <FileLine key={index} of={line} />
          ))}
        </pre>
      )}
      {unshown !== undefined && <p class="note">What is in it: {unshown}.</p>}
      {more > 0 && <p class="note">The difference of this file is longer: {more} more lines.</p>}
    </details>
  );
}

const TAGS = { new: "ins", gone: "del", same: "span", about: "em" } as const;

function FileLine({ of: { kind, text, more } }: { readonly of: ChangedLine }): JSX.Element {
  const Tag = TAGS[kind];
  return (
    <>
      <Tag>
        {kind === "about" && "… "}
        <Shown text={text} />
      </Tag>
      {more !== undefined && <em> … and {more} more characters</em>}
      {"\n"}
    </>
  );
}

export function Findings({ of }: { readonly of: readonly DefinitionFinding[] }): JSX.Element | null {
  return of.length === 0 ? null : (
    <ul class="findings">
      {of.map(({ id, tier, about, at, excerpt }, index) => (
        <li key={index}>
          <State of={tier === "hard" ? "denied" : "waiting"} word={tier === "hard" ? "withheld" : "look at this"} />{" "}
          <Shown text={about} /> <Shown text={`(${id}, ${at})`} />
          <Shown text={excerpt} block />
        </li>
      ))}
    </ul>
  );
}

interface DifferenceProps {
  readonly of: Place;
  readonly findings: readonly DefinitionFinding[];
}

/** One place of an item, as it was approved and as it is now, with what was found in it. */
export function Difference({ of: { at, before, now }, findings }: DifferenceProps): JSX.Element {
  const { before: was, now: is } = wordDiff(before ?? "", now ?? "");
  return (
    <div class="two">
      <Shown text={at === "" ? "all of it" : at} />
      {before === undefined && now !== undefined && <p class="was">Before: not there</p>}
      {before !== undefined && before !== now && (
        <p class="was">
          <strong>Before</strong>{" "}
          {was.map(({ text, differs }, index) =>
            differs && now !== undefined ? (
              <del key={index}>
                <Shown text={text} />
              </del>
            ) : (
              <Shown key={index} text={text} />
            ),
          )}
        </p>
      )}
      {now !== undefined && (
        <p class="is">
          {before !== now && <strong>Now</strong>}{" "}
          {before === undefined ? (
            <ins>
              <Marked text={now} findings={findings} />
            </ins>
          ) : before === now ? (
            <Marked text={now} findings={findings} />
          ) : (
            <Pieces of={is} marks={marksOf(now, findings)} />
          )}
        </p>
      )}
      <Findings of={findings} />
    </div>
  );
}

function marksOf(text: string, findings: readonly DefinitionFinding[]): Mark[] {
  return marksIn(
    text,
    findings.map(({ excerpt }) => excerpt),
  );
}

function Marked({
  text,
  findings,
}: {
  readonly text: string;
  readonly findings: readonly DefinitionFinding[];
}): JSX.Element {
  return <>{marked(text, 0, marksOf(text, findings))}</>;
}

interface PiecesProps {
  readonly of: readonly { readonly text: string; readonly differs: boolean }[];
  readonly marks: readonly Mark[];
}

/** A text by its pieces, those that are new drawn so, and within them what was found. */
function Pieces({ of, marks }: PiecesProps): JSX.Element {
  let from = 0;
  return (
    <>
      {of.map(({ text, differs }, index) => {
        const inside = marked(text, from, marks);
        from += text.length;
        return differs ? <ins key={index}>{inside}</ins> : <span key={index}>{inside}</span>;
      })}
    </>
  );
}

/** A piece that begins at `from` in its whole text, with what is marked there. */
function marked(text: string, from: number, marks: readonly Mark[]): JSX.Element[] {
  const pieces: JSX.Element[] = [];
  let at = 0;
  for (const { start, end } of marks) {
    const [first, last] = [Math.max(at, start - from), Math.min(text.length, end - from)];
    if (first >= last) continue;
    if (first > at) pieces.push(<Shown key={at} text={text.slice(at, first)} />);
    pieces.push(
      <mark key={`${first} found`}>
        <Shown text={text.slice(first, last)} />
      </mark>,
    );
    at = last;
  }
  if (at < text.length) pieces.push(<Shown key={at} text={text.slice(at)} />);
  return pieces;
}

/** Places that are as they were. They are many: drawn when they are asked for. */
export function Rest({ places }: { readonly places: readonly Place[] }): JSX.Element {
  const open = useSignal(false);
  return (
    <details onToggle={({ currentTarget }) => (open.value = currentTarget.open)}>
      <summary>The rest of it, as it was</summary>
      {open.value && places.map((place) => <Difference key={place.at} of={place} findings={[]} />)}
    </details>
  );
}
