// Definitions: what plugins and servers offer now beside what was approved, word by word, and what the inspection found in it.
import { type Signal, signal, useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import type { DefinitionFinding, OfferedDefinitions, OfferedItem, ShownDefinitions } from "../api.js";
import { servers } from "../live.js";
import { Action, Empty, Moment, Shown, State } from "../parts.js";
import { type Mark, marksIn } from "../marks.js";
import { post } from "../request.js";
import { wordDiff } from "../word-diff.js";

type Place = OfferedItem["places"][number];

/** What was compared last, here: it stays while other screens are looked at. */
const offered: Signal<{ readonly at: number; readonly all: readonly ShownDefinitions[] } | undefined> =
  signal(undefined);

async function compare(): Promise<void> {
  const all = await post<ShownDefinitions[]>("/api/definitions", {});
  offered.value = { at: Date.now(), all: [...all].sort((one, other) => urgency(one) - urgency(other)) };
}

/** What waits for a decision first, then what could not be looked at, then what is as it was approved. */
function urgency(of: ShownDefinitions): number {
  if ("fault" in of) return 2;
  return of.approved ? 3 : of.refused === undefined ? 0 : 1;
}

export function Definitions(): JSX.Element {
  const isLooking = useSignal(false);
  const look = async (): Promise<void> => {
    isLooking.value = true;
    try {
      await compare();
    } finally {
      isLooking.value = false;
    }
  };
  const { at, all } = offered.value ?? {};
  const policies = new Set(all?.map(({ policy }) => policy));
  return (
    <section aria-labelledby="definitions-title">
      <h2 id="definitions-title">Definitions</h2>
      <p>
        What a plugin or a server offers is read by the model like an order. What has changed since it was approved is
        withheld until it is approved again. What is refused stays withheld, and so does what nobody has decided yet.
      </p>
      <Action label={at === undefined ? "Start them and compare" : "Start them and compare again"} act={look} />
      {isLooking.value ? (
        <Comparing>Every plugin and server is started and asked what it offers. This may take a minute.</Comparing>
      ) : (
        at !== undefined && (
          <p class="note">
            Compared at <Moment at={at} />. What changed since then is not known before it is compared again.
          </p>
        )
      )}
      {all === undefined && (
        <>
          {!isLooking.value && (
            <p class="note">
              Nothing has been compared on this page yet: what changed since it was approved is not known before.
              Running servers say only what they withhold.
            </p>
          )}
          <WithheldNow />
        </>
      )}
      {all?.length === 0 && (
        <Empty next="plugins.load and servers in the policy name them; mcp-secure-local servers add NAME -- COMMAND adds one.">
          The policies in use load no plugin and name no server.
        </Empty>
      )}
      {all?.map((each) => (
        <article key={`${each.policy} ${each.kind} ${each.name}`} class="offering">
          {"fault" in each ? <NotLookedAt of={each} /> : <Offering of={each} />}
          {policies.size > 1 && (
            <p class="note">
              By the policy <Shown text={each.policy} />
            </p>
          )}
        </article>
      ))}
    </section>
  );
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
  const plugins = servers.value.flatMap(({ plugins: all }) =>
    all.flatMap(({ name, withheld }) =>
      Object.entries(withheld).map(([item, reason]) => `plugin ${name}: ${item}: ${reason}`),
    ),
  );
  const mounted = servers.value.flatMap(({ servers: all = [] }) =>
    all.filter(({ state }) => state === "withheld").map(({ name, cause }) => `server ${name}: ${cause}`),
  );
  const lines = [...new Set([...plugins, ...mounted])];
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
  const calm = items.filter(isCalm);
  const undecided = items.filter(({ kind: change }) => change !== "same").length;
  const elsewhere = findings.filter((finding) => !items.some(({ item }) => item === itemOf(finding)));
  return (
    <>
      <h3>
        {KINDS[kind]} <Shown text={name} /> {approved && <State of="ok" word="as approved" />}
        {!approved && (
          <State
            of={refused === undefined ? "waiting" : "refused"}
            word={`${undecided} of ${items.length} ${refused === undefined ? "not approved" : "refused"}`}
          />
        )}
      </h3>
      {!approved && <Findings of={elsewhere} />}
      {items
        .filter((item) => !isCalm(item))
        .map((item) => (
          <Item key={item.item} of={item} findings={foundIn(item.item)} withheld={withheld[item.item]} />
        ))}
      {calm.length > 0 && <Calm items={calm} findings={approved ? findings : []} />}
      {!approved && findings.some(({ tier }) => tier === "hard") && (
        <p class="note">What looks like an attack stays withheld, even when it is approved here.</p>
      )}
      {!approved && <Decision of={of} />}
    </>
  );
}

/** A refusal changes nothing that is in force: it is remembered, so that the same is not taken for undecided again. */
function Decision({ of: { policy, kind, name, digest, refused } }: OfferingProps): JSX.Element {
  const isBusy = useSignal(false);
  const decide = (what: "approve" | "refuse") => async (): Promise<void> => {
    isBusy.value = true;
    try {
      await post(`/api/${what}`, { policy, kind, name, digest });
      await compare();
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <>
      <p class="answers">
        <Action label={`Approve what stands above of ${name}`} kind="good" act={decide("approve")} />
        {refused === undefined ? (
          <Action label={`Refuse what stands above of ${name}`} kind="bad" act={decide("refuse")} />
        ) : (
          <span class="note">
            Refused at <Moment at={Date.parse(refused)} />: it stays withheld. Words that change are shown as not
            approved.
          </span>
        )}
      </p>
      {isBusy.value && (
        <Comparing>All are started once more, to be sure of what they offer now: some seconds.</Comparing>
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
}

function Item({ of: { item, kind, isBack = false, places }, findings, withheld }: ItemProps): JSX.Element {
  const changed = places.filter(({ before, now, at }) => before !== now || findings.some((each) => each.at === at));
  const rest = places.filter((place) => !changed.includes(place));
  const placed = (at: string): DefinitionFinding[] => findings.filter((each) => each.at === at);
  return (
    <section class="change">
      <h4>
        <State of={kind === "removed" ? "denied" : kind === "same" ? "ok" : "waiting"} word={WORDS[kind]} />{" "}
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
      {rest.length > 0 && <Rest places={rest} />}
    </section>
  );
}

function Findings({ of }: { readonly of: readonly DefinitionFinding[] }): JSX.Element | null {
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
function Difference({ of: { at, before, now }, findings }: DifferenceProps): JSX.Element {
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
function Rest({ places }: { readonly places: readonly Place[] }): JSX.Element {
  const open = useSignal(false);
  return (
    <details onToggle={({ currentTarget }) => (open.value = currentTarget.open)}>
      <summary>The rest of it, as it was</summary>
      {open.value && places.map((place) => <Difference key={place.at} of={place} findings={[]} />)}
    </details>
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
