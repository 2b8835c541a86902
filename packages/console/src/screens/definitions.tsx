// Definitions: what plugins and servers offer now beside what was approved, word by word, and what the inspection found in it.
import { type Signal, signal, useSignal, useSignalEffect } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useRef } from "preact/hooks";
import type {
  ComparedDefinitions,
  DefinitionFinding,
  OfferedDefinitions,
  OfferedItem,
  ShownDefinitions,
} from "../api.js";
import { Difference, Files, Findings, Rest } from "../definition-changes.js";
import { servers } from "../live.js";
import { Action, Empty, Fault, Moment, Shown, State, visible } from "../parts.js";
import { get, post } from "../request.js";
import { place } from "../router.js";
import { isOfWords } from "../troubles.js";

/** What was compared last: it stays while other screens are looked at, and the console keeps it for a page that is loaded again. */
const offered: Signal<ComparedDefinitions | undefined> = signal(undefined);
/** What was approved since, by its place in the list: it keeps that place, and says so. */
const approvedAt: Signal<ReadonlyMap<string, number>> = signal(new Map());
/** The plugin or server that is being approved: until that is done nothing else is decided. */
const deciding: Signal<ShownDefinitions | undefined> = signal(undefined);
/** Whether buttons may have moved a moment ago: whoever presses then meant what stood there before. */
const moved: Signal<boolean> = signal(false);
/** Milliseconds that buttons which moved are dead. */
const STEADY_MS = 1_000;
let steadyAgain: ReturnType<typeof setTimeout> | undefined;

function hold(): void {
  moved.value = true;
  clearTimeout(steadyAgain);
  steadyAgain = setTimeout(() => (moved.value = false), STEADY_MS);
}

async function compare(): Promise<void> {
  const all = await post<ShownDefinitions[]>("/api/definitions", {});
  [offered.value, approvedAt.value] = [{ at: Date.now(), all }, new Map()];
  hold();
}

/** Takes over what the console keeps, where another page has decided or compared since. */
async function readKept(): Promise<void> {
  const read = await get<ComparedDefinitions | null>("/api/definitions");
  if (read === null || deciding.peek() !== undefined) return;
  const known = offered.peek();
  if (known !== undefined && JSON.stringify(known.all) === JSON.stringify(read.all)) return;
  offered.value = read;
  if (known !== undefined) hold();
}

function keyOf({ policy, kind, name }: Pick<ShownDefinitions, "policy" | "kind" | "name">): string {
  return JSON.stringify([policy, kind, name]);
}

/** One of them is another by now, in its place. */
function put(one: ShownDefinitions): void {
  const { at, all } = offered.peek() ?? { at: Date.now(), all: [] };
  offered.value = { at, all: all.map((each) => (keyOf(each) === keyOf(one) ? one : each)) };
  hold();
}

export function Definitions(): JSX.Element {
  const { isLooking, fault, look } = useComparison();
  const { at, all } = offered.value ?? {};
  return (
    <section aria-labelledby="definitions-title">
      <h2 id="definitions-title">Definitions</h2>
      <p>
        What a plugin or a server offers is read by the model like an order. What has changed since it was approved is
        withheld until it is approved again. What is refused stays withheld, and so does what nobody has decided yet.
      </p>
      <Action
        label={at === undefined ? "Start them and compare" : "Start them and compare again"}
        disabled={deciding.value !== undefined}
        act={look}
      />
      <Fault error={fault} />
      {isLooking ? (
        <Comparing>Every plugin and server is started and asked what it offers. This may take a minute.</Comparing>
      ) : (
        at !== undefined && (
          <p class="note">
            Compared at <Moment at={at} />. What changed since then is not known before it is compared again.
          </p>
        )
      )}
      {all === undefined ? <NotCompared isLooking={isLooking} /> : <Compared all={all} />}
    </section>
  );
}

interface Comparison {
  readonly isLooking: boolean;
  readonly fault: unknown;
  readonly look: () => Promise<void>;
}

/** Reads what the console keeps, and compares by itself where somebody comes to decide and nothing is kept. */
function useComparison(): Comparison {
  const isLooking = useSignal(false);
  /** Whether it is known that the console keeps nothing that was compared before. */
  const isRead = useSignal(false);
  const isStarted = useRef(false);
  const fault = useSignal<unknown>(undefined);
  const look = async (): Promise<void> => {
    if (isLooking.peek()) return;
    isLooking.value = true;
    try {
      await compare();
    } finally {
      isLooking.value = false;
    }
  };
  useSignalEffect(() => {
    // What another page, or this one, has decided or compared shows in how the servers are.
    void servers.value;
    readKept().then(
      () => (isRead.value = true),
      (error: unknown) => (fault.value = error),
    );
  });
  useSignalEffect(() => {
    if (!isRead.value || offered.value !== undefined) return;
    // Whoever comes to decide what is withheld would start the comparison themselves.
    if (!place.value.query.has("name") && withheldNow().length === 0) return;
    if (isStarted.current) return;
    isStarted.current = true;
    look().catch((error: unknown) => (fault.value = error));
  });
  return { isLooking: isLooking.value, fault: fault.value, look };
}

function NotCompared({ isLooking }: Pick<Comparison, "isLooking">): JSX.Element {
  return (
    <>
      {!isLooking && (
        <p class="note">
          Nothing has been compared on this page yet: what changed since it was approved is not known before. Running
          servers say only what they withhold.
        </p>
      )}
      <WithheldNow />
    </>
  );
}

function Compared({ all }: Pick<ComparedDefinitions, "all">): JSX.Element {
  const policies = new Set(all.map(({ policy }) => policy));
  if (all.length === 0)
    return (
      <Empty next="plugins.load and servers in the policy name them; mcp-secure-local servers add NAME -- COMMAND adds one.">
        The policies in use load no plugin and name no server.
      </Empty>
    );
  return (
    <>
      {all.map((each) => (
        <article key={`${each.policy} ${each.kind} ${each.name}`} class="offering" ref={landed(each)}>
          {"fault" in each ? <NotLookedAt of={each} /> : <Offering of={each} />}
          {policies.size > 1 && (
            <p class="note">
              By the policy <Shown text={each.policy} />
            </p>
          )}
        </article>
      ))}
    </>
  );
}

/** Where another screen led to the plugin or server itself, that is in view. */
function landed({ kind, name }: ShownDefinitions): ((article: HTMLElement | null) => void) | null {
  const { query } = place.value;
  if (query.get("kind") !== kind || query.get("name") !== name) return null;
  return landing;
}

function landing(article: HTMLElement | null): void {
  article?.scrollIntoView({ block: "start" });
}

function Comparing({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return (
    <p class="note" role="status">
      {children} <progress aria-label="Comparing" />
    </p>
  );
}

/** What the running processes say without anything being started. */
function WithheldNow(): JSX.Element | null {
  const lines = withheldNow();
  return lines.length === 0 ? null : (
    <ul class="troubles">
      {lines.map((line) => (
        <li key={line}>
          <Shown text={line} />
        </li>
      ))}
    </ul>
  );
}

function withheldNow(): string[] {
  const plugins = servers.value.flatMap(({ plugins: all }) =>
    all.flatMap(({ name, state, note, withheld }) => [
      ...(state === "refused" ? [`plugin ${name}: ${note}`] : []),
      ...Object.entries(withheld).map(([item, reason]) => `plugin ${name}: ${item}: ${reason}`),
    ]),
  );
  const mounted = servers.value.flatMap(({ servers: all = [] }) =>
    all
      .filter((each) => isOfWords(each) && each.refused === undefined)
      .map(({ name, cause }) => `server ${name}: ${cause}`),
  );
  return [...new Set([...plugins, ...mounted])];
}

const KINDS = { plugin: "Plugin", server: "Server" } as const;

function NotLookedAt({
  of: { kind, name, fault },
}: {
  readonly of: ShownDefinitions & { fault: string };
}): JSX.Element {
  return (
    <>
      <h3>
        {KINDS[kind]} <Shown text={name} /> <State of="denied" word="not looked at" />
      </h3>
      <Shown text={fault} block />
    </>
  );
}

interface OfferingProps {
  readonly of: OfferedDefinitions & { readonly policy: string };
}

function Offering({ of }: OfferingProps): JSX.Element {
  const { kind, name, approved, refused, items, findings, withheld } = of;
  const foundIn = (item: string): DefinitionFinding[] => findings.filter((finding) => itemOf(finding) === item);
  // What was approved with what was found in it is not asked about again.
  const isCalm = ({ item, kind: change }: OfferedItem): boolean =>
    change === "same" && (approved || foundIn(item).length === 0) && withheld[item] === undefined;
  // What was approved a moment ago stays where it was.
  const doneAt = (item: string): number | undefined => approvedAt.value.get(`${keyOf(of)} ${item}`);
  const shown = items.filter((item) => !isCalm(item) || doneAt(item.item) !== undefined);
  const calm = items.filter((item) => !shown.includes(item));
  const changed = items.filter(({ kind: change }) => change !== "same");
  const waits = changed.filter(({ refused: date }) => refused === undefined && date === undefined).length;
  const elsewhere = findings.filter((finding) => !items.some(({ item }) => item === itemOf(finding)));
  return (
    <>
      <h3>
        {KINDS[kind]} <Shown text={name} /> {approved && <State of="ok" word="as approved" />}
        {!approved && (
          <State
            of={waits === 0 ? "refused" : "waiting"}
            word={`${waits === 0 ? changed.length : waits} of ${items.length} ${waits === 0 ? "refused" : "not approved"}`}
          />
        )}
      </h3>
      {!approved && <Findings of={elsewhere} />}
      {shown.map((item) => (
        <Item
          key={item.item}
          of={item}
          findings={foundIn(item.item)}
          withheld={withheld[item.item]}
          doneAt={doneAt(item.item)}
          decide={item.kind === "same" || shown.length < 2 ? undefined : <DecideItem of={of} item={item} />}
        />
      ))}
      {calm.length > 0 && <Calm items={calm} findings={approved ? findings : []} />}
      {!approved && findings.some(({ tier }) => tier === "hard") && (
        <p class="note">What looks like an attack stays withheld, even when it is approved here.</p>
      )}
      {!approved && <Decision of={of} />}
    </>
  );
}

/** Approves all of it, or `only` these items: everything is started once more for that. */
async function approve(of: OfferingProps["of"], items: readonly OfferedItem[], only: readonly string[]): Promise<void> {
  const { policy, kind, name, digest } = of;
  deciding.value = of;
  try {
    const after = await post<ShownDefinitions>("/api/approve", { policy, kind, name, digest, only });
    const done = items.map(({ item }) => [`${keyOf(of)} ${item}`, Date.now()] as const);
    approvedAt.value = new Map([...approvedAt.peek(), ...done]);
    put(after);
  } finally {
    deciding.value = undefined;
  }
}

/** A refusal changes nothing that is in force: it is remembered, so that the same is not taken for undecided again. */
async function refuse(of: OfferingProps["of"], items: readonly OfferedItem[], whole: boolean): Promise<void> {
  const { policy, kind, name, digest } = of;
  const only = [...items.flatMap((item) => item.digest ?? []), ...(whole ? [digest] : [])];
  await post("/api/refuse", { policy, kind, name, digest, only });
  const date = new Date().toISOString();
  const after = of.items.map((item) => (items.includes(item) ? { ...item, refused: date } : item));
  const isAll = whole || after.every((item) => item.kind === "same" || item.refused !== undefined);
  put({ ...of, items: after, ...(isAll ? { refused: date } : {}) });
}

const isHeld = (): boolean => moved.value;
const isBusy = (): boolean => deciding.value !== undefined;

function DecideItem({ of, item }: OfferingProps & { readonly item: OfferedItem }): JSX.Element {
  const named = `${item.item} of ${of.name}`;
  const common = { disabled: isBusy(), held: isHeld() };
  return (
    <p class="answers">
      <Action
        label="Approve"
        name={visible(`Approve: ${named}`)}
        kind="good"
        {...common}
        act={() => approve(of, [item], [item.item])}
      />
      {item.refused === undefined ? (
        <Action
          label="Refuse"
          name={visible(`Refuse: ${named}`)}
          kind="bad"
          {...common}
          act={() => refuse(of, [item], false)}
        />
      ) : (
        <Refused at={item.refused} />
      )}
    </p>
  );
}

function Refused({ at }: { readonly at: string }): JSX.Element {
  return (
    <span class="note">
      Refused at <Moment at={Date.parse(at)} />: it stays withheld. If its words change again, they are shown here anew.
    </span>
  );
}

function Decision({ of }: OfferingProps): JSX.Element {
  const { name, refused, items } = of;
  const changed = items.filter(({ kind }) => kind !== "same");
  const hidden = changed.flatMap(({ files }) => files?.hidden ?? []);
  const common = { disabled: isBusy(), held: isHeld() };
  const those = changed.length === 1 ? "this change" : `all ${changed.length} changes`;
  return (
    <>
      <p class="answers">
        <Action
          label={`Approve ${those} of ${name}${hidden.length > 0 ? ", and what is not shown" : ""}`}
          kind="good"
          {...common}
          act={() => approve(of, changed, [])}
        />
        {refused === undefined ? (
          <Action label={`Refuse ${those} of ${name}`} kind="bad" {...common} act={() => refuse(of, changed, true)} />
        ) : (
          <Refused at={refused} />
        )}
      </p>
      {deciding.value !== undefined && keyOf(deciding.value) === keyOf(of) && (
        <Comparing>
          It is being compared. All are started once more, to be sure of what they offer now: some seconds.
        </Comparing>
      )}
    </>
  );
}

/** Findings in what something says of itself belong to the server or plugin as a whole. */
function itemOf({ kind, item }: DefinitionFinding): string {
  return kind === "server" ? "server" : `${kind} ${item}`;
}

const WORDS = { added: "added", changed: "changed", removed: "removed", same: "as approved" } as const;

interface ItemProps {
  readonly of: OfferedItem;
  readonly findings: readonly DefinitionFinding[];
  readonly withheld: string | undefined;
  /** When it was approved here, in milliseconds since 1970; undefined where it was not. */
  readonly doneAt: number | undefined;
  /** Its own two buttons, where it is not the only one. */
  readonly decide: JSX.Element | undefined;
}

function Item({ of, findings, withheld, doneAt, decide }: ItemProps): JSX.Element {
  const { item, kind, isBack = false, places, files } = of;
  if (doneAt !== undefined && kind === "same")
    return (
      <section class="change">
        <h4>
          <State of="ok" word="approved" /> <Shown text={item} />
        </h4>
        <p class="note">
          Approved at <Moment at={doneAt} />.
        </p>
      </section>
    );
  const changed = places.filter(({ before, now, at }) => before !== now || findings.some((each) => each.at === at));
  const rest = places.filter((place) => !changed.includes(place));
  const placed = (at: string): DefinitionFinding[] => findings.filter((each) => each.at === at);
  return (
    <section class="change">
      <h4>
        <State
          of={kind === "removed" ? "denied" : kind === "same" && withheld === undefined ? "ok" : "waiting"}
          word={kind === "same" && withheld !== undefined ? "unchanged itself, withheld with the rest" : WORDS[kind]}
        />{" "}
        <Shown text={item} />
      </h4>
      {isBack && <p class="note">It was approved once, was gone, and is offered again.</p>}
      {withheld !== undefined && (
        <p class="note">
          Withheld: <Shown text={withheld} />
        </p>
      )}
      <Findings of={findings.filter(({ at }) => !changed.some((place) => place.at === at))} />
      {changed.map((place) => (
        <Difference key={place.at} of={place} findings={placed(place.at)} />
      ))}
      {files !== undefined && <Files of={files} />}
      {rest.length > 0 && <Rest places={rest} />}
      {decide}
    </section>
  );
}

interface CalmProps {
  readonly items: readonly OfferedItem[];
  readonly findings: readonly DefinitionFinding[];
}

function Calm({ items, findings }: CalmProps): JSX.Element {
  const open = useSignal(false);
  const count = findings.length;
  return (
    <details onToggle={({ currentTarget }) => (open.value = currentTarget.open)}>
      <summary>
        {items.length} as approved
        {count > 0 && `, ${count === 1 ? "one thing" : `${count} things`} to look at among them`}
      </summary>
      {open.value &&
        items.map((item) => {
          const found = findings.filter((each) => itemOf(each) === item.item);
          return (
            <section key={item.item} class="change">
              <h4>
                <Shown text={item.item} />
              </h4>
              <Findings of={found.filter(({ at }) => !item.places.some((place) => place.at === at))} />
              {item.places.map((place) => (
                <Difference key={place.at} of={place} findings={found.filter(({ at }) => at === place.at)} />
              ))}
            </section>
          );
        })}
      {open.value && <Findings of={findings.filter((each) => !items.some(({ item }) => item === itemOf(each)))} />}
    </details>
  );
}
