// Definitions: what plugins offer now beside what was approved, word by word, and what the inspection found in it.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { RunningPlugin } from "../api.js";
import { servers } from "../live.js";
import { Action, Empty, Fault, Shown, State } from "../parts.js";
import { post } from "../request.js";

interface Offered extends Pick<RunningPlugin, "name" | "findings" | "changes" | "withheld"> {
  readonly digest: string;
  readonly approved: boolean;
}

export function Definitions(): JSX.Element {
  const offered = useSignal<readonly Offered[] | undefined>(undefined);
  const fault = useSignal<unknown>(undefined);
  const known = servers.value.flatMap(({ plugins }) => plugins);
  const look = async (): Promise<void> => {
    offered.value = await post<Offered[]>("/api/definitions", {});
  };
  return (
    <section aria-labelledby="definitions-title">
      <h2 id="definitions-title">Definitions</h2>
      <p>
        What a plugin offers is read by the model like an order. What has changed since it was approved is withheld
        until it is approved again; what was not approved stays withheld, and nothing has to be done to refuse it.
      </p>
      <Action label="Start the plugins and compare" act={look} />
      <Fault error={fault.value} />
      {offered.value === undefined && known.some(({ withheld }) => Object.keys(withheld).length > 0) && (
        <ul class="troubles">
          {known.flatMap(({ name, withheld }) =>
            Object.entries(withheld).map(([item, reason]) => (
              <li key={`${name} ${item}`}>
                <Shown text={`${name}: ${item}: ${reason}`} />
              </li>
            )),
          )}
        </ul>
      )}
      {offered.value?.length === 0 && (
        <Empty next="plugins.load in the policy names them; docs/plugins.md shows how to write one.">
          The policy loads no plugin.
        </Empty>
      )}
      {offered.value?.map((plugin) => (
        <Offering key={plugin.digest} plugin={plugin} again={look} />
      ))}
    </section>
  );
}

function Offering({ plugin, again }: { readonly plugin: Offered; readonly again: () => Promise<void> }): JSX.Element {
  const { name, findings, changes, withheld, digest, approved } = plugin;
  const approve = async (): Promise<void> => {
    await post("/api/approve", { plugin: name, digest });
    await again();
  };
  return (
    <article class="offering">
      <h3>
        <Shown text={name} />{" "}
        <State of={approved ? "ok" : "waiting"} word={approved ? "as approved" : "not approved"} />
      </h3>
      {Object.entries(withheld).map(([item, reason]) => (
        <p key={item} class="note">
          Withheld: <Shown text={`${item}: ${reason}`} />
        </p>
      ))}
      {findings.length > 0 && <h4>What the inspection found</h4>}
      <ul>
        {findings.map(({ id, tier, about, item, at, excerpt }, index) => (
          <li key={index}>
            <State of={tier === "hard" ? "denied" : "waiting"} word={tier === "hard" ? "withheld" : "to be read"} />{" "}
            <Shown text={about} /> <Shown text={`(${id}, ${item} ${at})`} />
            <Shown text={excerpt} block />
          </li>
        ))}
      </ul>
      {changes.length > 0 && <h4>What changed</h4>}
      {changes.map(({ item, kind, lines }) => (
        <div key={item} class="change">
          <State of={kind === "removed" ? "denied" : "waiting"} word={kind} /> <Shown text={item} />
          {lines.map((line, index) => (
            <Changed key={index} line={line} />
          ))}
        </div>
      ))}
      {!approved && <Action label={`Approve what stands above of ${name}`} kind="good" act={approve} />}
    </article>
  );
}

/** `/place: "was" -> "is"` as two columns, with the words that differ marked. */
function Changed({ line }: { readonly line: string }): JSX.Element {
  const [, at, was, is] = /^(\S*): (".*"|nothing|\S+) -> (".*"|nothing|\S+)$/s.exec(line) ?? [];
  if (at === undefined || was === undefined || is === undefined) return <Shown text={line} block />;
  const [old, fresh] = [words(was), words(is)];
  const [oldSet, freshSet] = [new Set(old), new Set(fresh)];
  return (
    <div class="two">
      <Shown text={at} />
      <p class="was">
        {old.map((word, index) =>
          freshSet.has(word) ? (
            <Shown key={index} text={word} />
          ) : (
            <del key={index}>
              <Shown text={word} />
            </del>
          ),
        )}
      </p>
      <p class="is">
        {fresh.map((word, index) =>
          oldSet.has(word) ? (
            <Shown key={index} text={word} />
          ) : (
            <ins key={index}>
              <Shown text={word} />
            </ins>
          ),
        )}
      </p>
    </div>
  );
}

function words(text: string): string[] {
  return text.split(/(?<=\s)/);
}
