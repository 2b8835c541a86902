// Calls that wait for a person: each whole, with its answers, and in its place until what became of it has been read.
import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { JSX, RefObject } from "preact";
import type { Answer, CallDetail, SettledCall, WaitingCall } from "./api.js";
import { Difference, Differing, Folded, MAX_COMPARED } from "./difference.js";
import { link, now, settled, waiting } from "./live.js";
import { Action, Brief, Command, Shown, State, visible } from "./parts.js";
import { get, post } from "./request.js";
import { go } from "./router.js";
import { type Piece, wordDiff } from "./word-diff.js";

/** Milliseconds that an answered question keeps its place: nothing is to slide under a finger that is about to press. */
const KEPT_MS = 8_000;
/** Milliseconds that buttons which appeared or moved are dead: whoever presses then meant what stood there before. */
const STEADY_MS = 1_000;
/** Milliseconds between two looks at where the buttons are. */
const LOOK_MS = 100;
/** Milliseconds until the call of a question is looked for again. */
const AGAIN_MS = 300;

interface Card {
  readonly call: WaitingCall;
  /** When it was over, in milliseconds since 1970; undefined while it waits. */
  overAt?: number | undefined;
}

/** Nothing is to move under the eyes of who reads: a card goes when nothing of it, nor of what stands above it, leaves a gap in view. */
function mayGo(id: string): boolean {
  const card = document.getElementById(`question-${id}`)?.closest("article");
  if (card === null || card === undefined || document.hidden) return true;
  const { bottom, top } = card.getBoundingClientRect();
  const isRead = document.activeElement !== null && card.contains(document.activeElement);
  // Below the view nothing is seen to move; above it the browser keeps what is in view where it is.
  return !isRead && (top > innerHeight || bottom < 0);
}

interface QuestionsProps {
  /** What is shown where none waits. */
  readonly none: JSX.Element;
  /** Questions that are over and named; as many as are known where it is absent. */
  readonly most?: number;
}

/** In the order in which they came, so that none is ever put before one that is being read. */
export function Questions({ none, most = Infinity }: QuestionsProps): JSX.Element {
  const cards = useRef(new Map<string, Card>()).current;
  const putAway = useSignal(0);
  // Read, so that a card that is put away goes at once.
  void putAway.value;
  const open = new Set(waiting.value.map(({ id }) => id));
  for (const call of waiting.value) if (!cards.has(call.id)) cards.set(call.id, { call });
  for (const [id, card] of cards) {
    card.overAt = open.has(id) ? undefined : (card.overAt ?? now.value);
    if (card.overAt !== undefined && now.value - card.overAt > KEPT_MS && mayGo(id)) cards.delete(id);
  }
  return (
    <>
      {open.size > 0 && link.value === "lost" && <Away />}
      {[...cards.values()].map(({ call, overAt }) => (
        <Question
          key={call.id}
          call={call}
          isOver={overAt !== undefined}
          away={() => {
            cards.delete(call.id);
            putAway.value += 1;
          }}
        />
      ))}
      {open.size === 0 && none}
      <JustOver most={most} />
    </>
  );
}

/** Milliseconds that a question which is over is named: whoever looked away sees what became of it. */
const OVER_MS = 120_000;

/** Whoever had a question before their eyes is told what became of it: also where somebody else answered. */
function JustOver({ most }: { readonly most: number }): JSX.Element | null {
  const recent = settled.value.filter(({ at }) => now.value - at < OVER_MS).slice(0, most);
  return recent.length === 0 ? null : (
    <ul class="over" aria-live="polite">
      {recent.map((each) => (
        <li key={each.id}>
          Question {each.id.slice(0, 4)}
          {each.about !== undefined && (
            <>
              : <Brief text={each.about} />
            </>
          )}{" "}
          <Became of={each} />.{" "}
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

function Became({ of: { answer, reason, by, isNotRun = false } }: { readonly of: SettledCall }): JSX.Element {
  const where = by === undefined ? "" : by === "console" ? " in the console" : " in a terminal";
  if (answer !== undefined)
    return (
      <>
        <State of={answer === "deny" ? "denied" : "ok"} word={answer === "deny" ? "was refused" : "was allowed"} />
        {where}
      </>
    );
  if (isNotRun)
    return (
      <>
        <State of="unanswered" word="was not run" />: <Shown text={reason ?? ""} />
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
  /** Takes away a card that is over. */
  readonly away: () => void;
}

/** One question. The answer carries the digest of the text that is shown here. */
function Question({ call, isOver, away }: QuestionProps): JSX.Element {
  const { id, text, digest, remember } = call;
  const card = useRef<HTMLElement>(null);
  const answers = useRef<HTMLDivElement>(null);
  const { steady, look } = useSteady(answers);
  const detail = useCallOf(id);
  const answeredHere = useRef(false);
  useKeptFocus(card, answeredHere, isOver);
  const answer = (given: Answer) => async (): Promise<void> => {
    look();
    if (!steady.value) return;
    answeredHere.current = true;
    await post("/api/answer", { id, digest, answer: given });
  };
  const { row } = detail ?? {};
  const named = row === undefined ? "" : `: ${visible(`${row.name} ${row.object}`)}`;
  const buttons = [
    ["Allow this one call", "good", "approve"],
    ...(remember === undefined ? [] : [[`Allow it ${remember}`, "good", "remember"] as const]),
    ["Refuse", "bad", "deny"],
  ] as const;
  return (
    <article ref={card} class={isOver ? "question-over" : "question"} aria-labelledby={`question-${id}`}>
      <QuestionHeader call={call} isOver={isOver} away={away} />
      <QuestionText text={text} />
      <AgreedBefore of={detail} />
      <div class="answers" ref={answers}>
        {/* The heading of a long question is out of sight here. */}
        <span class="note">Question {id.slice(0, 4)}</span>
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
        {isOver && (
          <span>
            <BecameOf id={id} />
          </span>
        )}
      </div>
    </article>
  );
}

/** The call that a question is about, with the one that was agreed to before; null until its record has been read. */
function useCallOf(id: string): CallDetail | null {
  const detail = useSignal<CallDetail | null>(null);
  // Whether such a call was agreed to before may be another thing after each answer.
  const answered = settled.value[0]?.id;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = (): void =>
      void get<CallDetail | null>("/api/asked", { question: id }).then(
        (read) => {
          detail.value = read;
          // The question is heard of before its record has been read.
          if (read === null) timer = setTimeout(look, AGAIN_MS);
        },
        () => undefined,
      );
    look();
    return () => clearTimeout(timer);
  }, [id, answered]);
  return detail.value;
}

/** Gives the keyboard its next place where a card was answered on this page, or goes while it has the focus. */
function useKeptFocus(card: RefObject<HTMLElement | null>, answeredHere: RefObject<boolean>, isOver: boolean): void {
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
}

function QuestionHeader({ call: { id, until }, isOver, away }: QuestionProps): JSX.Element {
  return (
    <header>
      <h3 id={`question-${id}`} tabIndex={-1}>
        Question {id.slice(0, 4)} {isOver ? <BecameOf id={id} /> : <State of="waiting" />}
      </h3>
      {isOver && (
        <span class="countdown">
          <button type="button" class="link" onClick={away}>
            Put away
          </button>
        </span>
      )}
      {!isOver && (
        <span class="countdown" role="timer">
          <Countdown until={until} />
        </span>
      )}
    </header>
  );
}

/** What became of a question that is over, as far as it is known. */
function BecameOf({ id }: { readonly id: string }): JSX.Element {
  const became = settled.value.find((each) => each.id === id);
  return became === undefined ? <State of="denied" word="is over" /> : <Became of={became} />;
}

/** How a call differs from the last one of its tool that was agreed to. */
function AgreedBefore({ of }: { readonly of: CallDetail | null }): JSX.Element {
  if (of?.difference !== undefined) return <Difference of={of.difference} isPartly={of.isPartly === true} />;
  // The line is there from the begin: the buttons below it do not move when the answer comes.
  return (
    <p class="note">
      {of === null
        ? "Looking for a call of this tool that you have agreed to …"
        : "You have agreed to no call of this tool before, as far as the log goes back."}
    </p>
  );
}

/** The page has lost its console: nothing can be answered here, and nothing is refused by that. */
function Away(): JSX.Element {
  return (
    <p class="fault" role="alert">
      This page cannot answer now, since its console does not answer. The calls wait until their time is over. Start the
      console again, or answer with <Command>mcp-secure-local approve</Command> in a terminal.
    </p>
  );
}

function Countdown({ until }: { readonly until: number }): JSX.Element {
  const seconds = Math.max(0, Math.round((until - now.value) / 1_000));
  if (link.value !== "lost") return <>will be refused in {seconds} s</>;
  return seconds === 0 ? <>its time is over</> : <>waits {seconds} s more, elsewhere</>;
}

/** Characters and lines of a question that are in view at once. */
const IN_VIEW = { characters: 1_500, lines: 18 };

/** Words that differ are marked. Of a long text they stand below it once more, where the answers are. */
function QuestionText({ text }: { readonly text: string }): JSX.Element {
  const own = partsIn(text);
  const pieces = useDiffering(text, own);
  const lines = text.split("\n").length;
  const isLong = text.length > IN_VIEW.characters || lines > IN_VIEW.lines;
  const more = isLong && (
    <p class="note">
      The text above has {lines} lines and {text.length} characters. All of them are there: it scrolls.
    </p>
  );
  if (pieces === undefined)
    return (
      <>
        <Shown text={text} block complete />
        {more}
      </>
    );
  return (
    <>
      <pre class="shown" dir="ltr" tabIndex={0}>
        <Shown text={own.head} complete />
        {pieces.map(({ text: words, differs }, index) =>
          differs ? <Differing key={index} text={words} Tag="mark" /> : <Shown key={index} text={words} complete />,
        )}
        <Shown text={own.rest} complete />
      </pre>
      {more}
      <p class="note">
        <mark>Marked</mark>: what is different in another call of this tool, that waited beside this one.
      </p>
      {isLong && (
        <pre class="shown" dir="ltr" tabIndex={0} aria-label="What is different in this call">
          <Folded of={pieces} Tag="mark" />
        </pre>
      )}
    </>
  );
}

/**
 * The body of a question, with the words told apart that another waiting call of the same tool does not have: two that are
 * alike are not taken for each other. Undefined where no other waited, or the two are too long to be compared.
 */
function useDiffering(text: string, own: Parts): readonly Piece[] | undefined {
  // The other one is answered first, most often: what differs stays marked.
  const compared = useRef<string>(undefined);
  const other = waiting.value
    .map((each) => partsIn(each.text))
    .find((each) => each.head === own.head && each.body !== own.body);
  compared.current = other?.body ?? compared.current;
  const body = compared.current;
  return useMemo(
    () =>
      body === undefined || Math.max(text.length, body.length) > MAX_COMPARED
        ? undefined
        : wordDiff(body, own.body).now,
    [body, own.body],
  );
}

interface Parts {
  /** The line that names the tool, its arguments and who asked. */
  readonly head: string;
  readonly body: string;
  /** The question's own number, which always differs. */
  readonly rest: string;
}

function partsIn(text: string): Parts {
  const start = text.indexOf("\n");
  const end = Math.max(start, text.lastIndexOf("\nQuestion "));
  return { head: text.slice(0, start), body: text.slice(start, end), rest: text.slice(end) };
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
