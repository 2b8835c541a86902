// Small parts that every screen uses: text of strangers, times, states, notes, buttons that do one thing.
import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import type { CallRow } from "./api.js";
import { link, now } from "./live.js";
import { RequestFault } from "./request.js";

/** Characters of a text that stands within a line or a button. */
const BRIEF = 200;
/** Characters of a long text that are shown before it is asked for whole. */
const FIRST_SHOWN = 2_000;
/** Everything that acts on its reader or is not seen: C0 but tab and line feed, DEL, C1, format, private, fillers, separators. */
// oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
const UNSEEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\p{Default_Ignorable_Code_Point}\p{Cf}\p{Co}\p{Cs}\u2028\u2029\u2800]/gu;

interface ShownProps {
  readonly text: string;
  readonly block?: boolean;
  /** All of it at once, however long: who decides about it is to have it before their eyes. */
  readonly complete?: boolean;
}

/** Text that a server, a model or a client wrote: as it is, with what nobody would see written out. */
export function Shown({ text, block = false, complete = false }: ShownProps): JSX.Element {
  const whole = useSignal(complete);
  const cut = whole.value || text.length <= FIRST_SHOWN ? text : text.slice(0, FIRST_SHOWN);
  const more = cut.length < text.length;
  const pieces = seen(cut);
  const Tag = block ? "pre" : "span";
  return (
    <Tag class="shown" dir="ltr" tabIndex={block ? 0 : undefined}>
      {pieces}
      {more && (
        <button type="button" class="more" onClick={() => (whole.value = true)}>
          {text.length - cut.length} more characters
        </button>
      )}
    </Tag>
  );
}

/** The beginning of such a text, for a line, a cell or a button. */
export function Brief({ text }: { readonly text: string }): JSX.Element {
  return (
    <span class="shown" dir="ltr">
      {seen(text.length > BRIEF ? `${text.slice(0, BRIEF)}…` : text)}
    </span>
  );
}

/** Characters of the end that stay when there is no room: of a path they say the most. */
const END = 16;

/** What a call reached for, in a line: where it is too long, its middle is left out. */
export function Reached({ text }: { readonly text: string }): JSX.Element {
  // Of a pair of halves none may be alone.
  const characters = [...text.slice(0, BRIEF + 1)];
  if (text.length > BRIEF || characters.length <= 2 * END) return <Brief text={text} />;
  return (
    <span class="reached shown" dir="ltr">
      <span>{seen(characters.slice(0, -END).join(""))}</span>
      <span>{seen(characters.slice(-END).join(""))}</span>
    </span>
  );
}

/** The same as plain text, for titles, pictures and labels. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

function seen(text: string): ComponentChildren[] {
  const pieces: ComponentChildren[] = [];
  let from = 0;
  for (const { 0: character, index } of text.matchAll(UNSEEN)) {
    if (index > from) pieces.push(text.slice(from, index));
    pieces.push(
      <span class="unseen" title="a character that is not seen">
        {`\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`}
      </span>,
    );
    from = index + character.length;
  }
  pieces.push(text.slice(from));
  return pieces;
}

// Made once: a format is dear to make, and a screen shows hundreds of moments.
const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const SHORT_DAY_AND_TIME = new Intl.DateTimeFormat(undefined, {
  ...{ month: "short", day: "numeric", hour: "numeric", minute: "2-digit" },
});
const DAY_AND_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

const EXACT = new Intl.DateTimeFormat(undefined, {
  hour: "numeric",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
});

/** A time of day, in the reader's own zone. */
export function clock(at: number): string {
  return TIME.format(at);
}

/** A moment to the millisecond, in the reader's own zone. */
export function exactTime(at: number): string {
  return Number.isFinite(at) ? EXACT.format(at) : "";
}

/** Milliseconds since 1970 that a date can hold. */
const LAST_MOMENT = 8.64e15;

/** A day and a time of it, in the reader's own zone. */
export function dayAndClock(at: number): string {
  return at > 0 && at <= LAST_MOMENT ? DAY_AND_TIME.format(at) : "a time that is not known";
}

/** When the day begins that `of` is in, and so many days before it, in the reader's own zone. */
export function dayBegin(of: number, before = 0): number {
  const day = new Date(of);
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() - before).getTime();
}

function isToday(at: number): boolean {
  return at >= dayBegin(now.peek());
}

interface MomentProps {
  readonly at: number;
  /** Of another day without its year and seconds, for a narrow column. */
  readonly short?: boolean;
  /** With its day, today's too. */
  readonly dated?: boolean;
}

/** A moment, in the reader's own zone, with its day unless that is today. */
export function Moment({ at, short = false, dated = false }: MomentProps): JSX.Element {
  if (!(at > 0 && at <= LAST_MOMENT)) return <>at a time that is not known</>;
  return (
    <time dateTime={new Date(at).toISOString()} title={DAY_AND_TIME.format(at)}>
      {/* Without following the clock: hundreds of moments would be drawn anew each second. */}
      {!dated && isToday(at) ? TIME.format(at) : (short ? SHORT_DAY_AND_TIME : DAY_AND_TIME).format(at)}
    </time>
  );
}

export function duration(ms: number | undefined): string {
  if (ms === undefined) return "";
  if (ms < 1) return "< 1 ms";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 9_950 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 1_000)} s`;
}

/** The call itself, without what it waited for a person; nothing of one that was not run. */
export function took({ ms }: Pick<CallRow, "ms">): string {
  return duration(ms);
}

export function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1_048_576)} MB`;
}

/** A word for a state; only what failed or waits is coloured. */
export function State({ of, word = of }: { readonly of: string; readonly word?: string }): JSX.Element {
  return (
    <span class={`state state-${of}`}>
      <Brief text={word} />
    </span>
  );
}

/** An empty page says what would fill it. */
export function Empty({
  children,
  next,
}: {
  readonly children: ComponentChildren;
  readonly next: ComponentChildren;
}): JSX.Element {
  return (
    <div class="empty">
      <p>{children}</p>
      <p class="next">{next}</p>
    </div>
  );
}

export function Command({ children }: { readonly children: string }): JSX.Element {
  return <code class="command">{children}</code>;
}

/** A fault with what to do about it. */
export function Fault({ error }: { readonly error: unknown }): JSX.Element | null {
  if (error === undefined) return null;
  const [what, advice] =
    error instanceof RequestFault
      ? [error.message, error.advice]
      : [error instanceof Error ? error.message : "Something failed.", ""];
  return (
    <div class="fault" role="alert">
      <Shown text={what} block /> {advice !== "" && <p>{advice}</p>}
    </div>
  );
}

interface ActionProps {
  readonly label: string;
  readonly act: () => Promise<void>;
  readonly kind?: "good" | "bad" | "plain";
  readonly disabled?: boolean;
  /** It does nothing for now, and keeps the keyboard's place. */
  readonly held?: boolean;
  /** For whoever does not see what stands beside it; it begins with the label. */
  readonly name?: string;
}

/** A button that is busy until its work is done, and says what went wrong. */
export function Action({ label, act, kind = "plain", disabled = false, held = false, name }: ActionProps): JSX.Element {
  const busy = useSignal(false);
  const fault = useSignal<unknown>(undefined);
  const idle = held || link.value === "lost";
  const run = async (): Promise<void> => {
    if (idle) return;
    [busy.value, fault.value] = [true, undefined];
    try {
      await act();
    } catch (error) {
      fault.value = error;
    }
    busy.value = false;
  };
  return (
    <span class="action">
      <button
        type="button"
        class={`button-${kind}`}
        disabled={disabled || busy.value}
        aria-disabled={idle || undefined}
        aria-label={name}
        aria-busy={busy.value}
        onClick={() => void run()}
      >
        <Brief text={label} />
      </button>
      <Fault error={fault.value} />
    </span>
  );
}

/** A table that may be wider than a narrow page: then it is moved to the side, by the keyboard too. */
export function Wide({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <div class="wide" role="group" aria-label={label} tabIndex={0}>
      {children}
    </div>
  );
}

/** Facts by name. A text is shown as one that a stranger wrote, whoever did. */
export function Facts({
  of,
}: {
  readonly of: readonly (readonly [name: string, value: ComponentChildren])[];
}): JSX.Element {
  return (
    <dl class="facts">
      {of
        .filter(([, value]) => value !== undefined && value !== "")
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{typeof value === "string" ? <Shown text={value} /> : value}</dd>
          </div>
        ))}
    </dl>
  );
}
