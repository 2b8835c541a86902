// Calls that wait for a person: each whole, with its answers, and in its place until what became of it has been read.
import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { JSX, RefObject } from "preact";
import type { Answer, CallDetail, SettledCall, WaitingCall } from "./api.js";
import { Difference } from "./difference.js";
import { now, settled, waiting } from "./live.js";
import { Action, Shown, State, visible } from "./parts.js";
import { get, post } from "./request.js";
import { go } from "./router.js";
import { wordDiff } from "./word-diff.js";

/** Milliseconds that an answered question keeps its place: nothing is to slide under a finger that is about to press. */
const KEPT_MS = 8_000;
/** Milliseconds that buttons which appeared or moved are dead: whoever presses then meant what stood there before. */
const STEADY_MS = 1_000;
/** Milliseconds between two looks at where the buttons are. */
const LOOK_MS = 100;
/** Characters of a question whose words are compared with those of another one. */
const MAX_COMPARED = 2_000;

interface Card {
  readonly call: WaitingCall;
  /** When it was over, in milliseconds since 1970; undefined while it waits. */
  overAt?: number | undefined;
}

/** In the order in which they came, so that none is ever put before one that is being read. */
export function Questions({ none }: { readonly none: JSX.Element }): JSX.Element {
  const cards = useRef(new Map<string, Card>()).current;
  const open = new Set(waiting.value.map(({ id }) => id));
  for (const call of waiting.value) if (!cards.has(call.id)) cards.set(call.id, { call });
  for (const [id, card] of cards) {
    card.overAt = open.has(id) ? undefined : (card.overAt ?? now.value);
    if (card.overAt !== undefined && now.value - card.overAt > KEPT_MS) cards.delete(id);
  }
  return (
    <>
      {[...cards.values()].map(({ call, overAt }) => (
        <Question key={call.id} call={call} isOver={overAt !== undefined} />
      ))}
      {open.size === 0 && none}
      <JustOver />
    </>
  );
}

/** Milliseconds that a question which is over is named: whoever looked away sees what became of it. */
const OVER_MS = 120_000;

/** Whoever had a question before their eyes is told what became of it: also where somebody else answered. */
function JustOver(): JSX.Element | null {
  const recent = settled.value.filter(({ at }) => now.value - at < OVER_MS);
  return recent.length === 0 ? null : (
    <ul class="over" aria-live="polite">
      {recent.map((each) => (
        <li key={each.id}>
          Question {each.id.slice(0, 4)} <Became of={each} />.{" "}
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

function Became({ of: { answer, reason, by } }: { readonly of: SettledCall }): JSX.Element {
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

interface QuestionProps {
  readonly call: WaitingCall;
  readonly isOver: boolean;
}

/** One question. The answer carries the digest of the text that is shown here. */
function Question({ call, isOver }: QuestionProps): JSX.Element {
  const { id, text, digest, remember, until } = call;
  const detail = useSignal<CallDetail | null>(null);
  const card = useRef<HTMLElement>(null);
  const answers = useRef<HTMLDivElement>(null);
  const { steady, look } = useSteady(answers);
  const answeredHere = useRef(false);
  const became = settled.value.find((each) => each.id === id);
  // Whether such a call was agreed to before may be another thing after each answer.
  const answered = settled.value[0]?.id;
  useEffect(() => {
    get<CallDetail | null>("/api/asked", { question: id }).then(
      (read) => (detail.value = read),
      () => undefined,
    );
  }, [id, answered]);
  // Before the page is drawn: between two keys the focus is never nowhere.
  useLayoutEffect(() => {
    if (isOver && answeredHere.current) focusNear(card.current);
  }, [isOver]);
  useLayoutEffect(
    () => () => {
      if (card.current?.contains(document.activeElement) === true) focusNear(document.getElementById("main"));
    },
    [],
  );
  const answer = (given: Answer) => async (): Promise<void> => {
    look();
    if (!steady.value) return;
    answeredHere.current = true;
    await post("/api/answer", { id, digest, answer: given });
  };
  const { row } = detail.value ?? {};
  const difference = detail.value?.difference;
  const named = row === undefined ? "" : `: ${visible(`${row.name} ${row.object}`)}`;
  const buttons = [
    ["Allow this one call", "good", "approve"],
    ...(remember === undefined ? [] : [[`Allow it ${remember}`, "good", "remember"] as const]),
    ["Refuse", "bad", "deny"],
  ] as const;
  return (
    <article ref={card} class={isOver ? "question-over" : "question"} aria-labelledby={`question-${id}`}>
      <header>
        <h3 id={`question-${id}`} tabIndex={-1}>
          Question {id.slice(0, 4)} {!isOver && <State of="waiting" />}
          {isOver && (became === undefined ? <State of="denied" word="is over" /> : <Became of={became} />)}
        </h3>
        {!isOver && (
          <span class="countdown" role="timer">
            will be refused in {Math.max(0, Math.round((until - now.value) / 1_000))} s
          </span>
        )}
      </header>
      <QuestionText text={text} />
      {difference !== undefined && <Difference of={difference} />}
      {difference === undefined && (
        // The line is there from the begin: the buttons below it do not move when the answer comes.
        <p class="note">
          {row === undefined
            ? "Looking for a call of this tool that you have agreed to …"
            : "You have agreed to no call of this tool before, as far as the log goes back."}
        </p>
      )}
      <div class="answers" ref={answers}>
        {buttons.map(([label, kind, given]) => (
          <Action
            key={given}
            label={label}
            name={label + named}
            kind={kind}
            held={isOver || !steady.value}
            act={answer(given)}
          />
        ))}
      </div>
    </article>
  );
}

/** The text with the words marked that another waiting call of the same tool does not have: two that are alike are told apart. */
function QuestionText({ text }: { readonly text: string }): JSX.Element {
  const own = argumentsIn(text);
  const other = waiting.value
    .map((each) => argumentsIn(each.text))
    .find((each) => each.head === own.head && each.args !== own.args);
  if (other === undefined || text.length > MAX_COMPARED || other.args.length > MAX_COMPARED)
    return <Shown text={text} block />;
  return (
    <pre class="shown" dir="ltr" tabIndex={0}>
      <Shown text={own.head} />
      {wordDiff(other.args, own.args).now.map(({ text: words, differs }, index) =>
        differs ? (
          <mark key={index} title="another waiting call of this tool has something else here">
            <Shown text={words} />
          </mark>
        ) : (
          <Shown key={index} text={words} />
        ),
      )}
      <Shown text={own.rest} />
    </pre>
  );
}

/** The line that names the tool, its arguments, and what stands behind them: who asked, and the question's own number. */
function argumentsIn(text: string): { readonly head: string; readonly args: string; readonly rest: string } {
  const start = text.indexOf("\n");
  const end = Math.max(start, text.lastIndexOf("\nAsked by"));
  return { head: text.slice(0, start), args: text.slice(start, end), rest: text.slice(end) };
}

/** Where the buttons are is looked at all the time, and at once when one is pressed. */
function useSteady(row: RefObject<HTMLElement | null>): {
  readonly steady: ReadonlySignal<boolean>;
  readonly look: () => void;
} {
  const steady = useSignal(false);
  const seen = useRef({ place: "", since: 0 });
  const look = (): void => {
    const { left = 0, top = 0 } = row.current?.getBoundingClientRect() ?? {};
    // Within the document: whoever scrolls means to.
    const place = `${Math.round(left + scrollX)} ${Math.round(top + scrollY)}`;
    if (place !== seen.current.place) seen.current = { place, since: performance.now() };
    steady.value = performance.now() - seen.current.since >= STEADY_MS;
  };
  useEffect(() => {
    look();
    const timer = setInterval(look, LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  return { steady, look };
}

/** The next question that waits is read next; where there is none, what became of this one. */
function focusNear(place: HTMLElement | null): void {
  const cards = [...document.querySelectorAll<HTMLElement>(".question")];
  const isAfter = (each: HTMLElement): boolean =>
    place !== null && (place.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING) > 0;
  const next = cards.find(isAfter) ?? cards[0];
  const own = place?.id === "main" ? place : place?.querySelector<HTMLElement>("h3");
  const heading = next?.querySelector<HTMLElement>("h3") ?? own;
  // A page that scrolled by itself would bring other buttons under the pointer; with the keyboard nothing lies under it.
  heading?.focus({ preventScroll: true });
  if (heading?.matches(":focus-visible") === true) heading.scrollIntoView({ block: "nearest" });
}
