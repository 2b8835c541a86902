// Compares the names of tools with each other and with those of other servers: collisions, look-alikes, imitations.
import { skeleton } from "./confusables.js";
import { excerptOf, type Sign } from "./finding.js";
import type { Peer } from "./offering.js";

/** Names shorter than this are a letter apart by chance. */
const SHORTEST_COMPARED = 6;
/** Names longer than this are cut before they are compared. */
const LONGEST_COMPARED = 128;
/** Share of words two descriptions have in common when one imitates the other. */
const IMITATES = 0.75;
/** Fewer words in common are chance. */
const LEAST_COMMON = 4;

/** Signs in the name of one tool. `others` are the names of the tools beside it, as often as they are there. */
export function readName(
  tool: { readonly name: string; readonly description: string },
  others: readonly string[],
  peers: readonly Peer[],
): Sign[] {
  const { name } = tool;
  return [...among(name, others), ...against(tool, peers)];
}

function among(name: string, others: readonly string[]): Sign[] {
  if (others.includes(name))
    return [
      { id: "names.collision", tier: "hard", about: "Another tool has the same name.", excerpt: excerptOf(name) },
    ];
  const twin = others.find((other) => skeleton(other) === skeleton(name) && !isPlural(other, name));
  if (twin === undefined) return [];
  return [
    {
      id: "names.look-alike",
      tier: "hard",
      about: `Its name looks like ${excerptOf(twin)}.`,
      excerpt: excerptOf(name),
    },
  ];
}

function against(
  { name, description }: { readonly name: string; readonly description: string },
  peers: readonly Peer[],
): Sign[] {
  return peers.flatMap(({ server, tools }): Sign[] =>
    tools.flatMap((peer): Sign[] => {
      const about = `${excerptOf(peer.name)} of ${excerptOf(server)}`;
      if (peer.name === name)
        return alike(description, peer.description ?? "")
          ? [
              {
                id: "names.imitation",
                tier: "hard",
                about: `It has the name and the description of ${about}.`,
                excerpt: excerptOf(name),
              },
            ]
          : [];
      if (skeleton(peer.name) === skeleton(name))
        return [
          { id: "names.look-alike", tier: "hard", about: `Its name looks like ${about}.`, excerpt: excerptOf(name) },
        ];
      const near = Math.min(name.length, peer.name.length) >= SHORTEST_COMPARED && isOneApart(name, peer.name);
      if (!near || isPlural(name, peer.name)) return [];
      return [
        {
          id: "names.near",
          tier: "soft",
          about: `Its name is one letter apart from ${about}.`,
          excerpt: excerptOf(name),
        },
      ];
    }),
  );
}

function isPlural(one: string, other: string): boolean {
  return `${one}s` === other || `${other}s` === one;
}

/** Whether one letter put in, taken out, changed or swapped with the next makes one of the other. */
export function isOneApart(one: string, other: string): boolean {
  const [short, long] = [one, other]
    .map((each) => each.slice(0, LONGEST_COMPARED).toLowerCase())
    .sort((a, b) => a.length - b.length) as [string, string];
  if (short === long || long.length - short.length > 1) return false;
  let start = 0;
  while (start < short.length && short[start] === long[start]) start += 1;
  if (short.length < long.length) return short.slice(start) === long.slice(start + 1);
  if (short.slice(start + 1) === long.slice(start + 1)) return true;
  return (
    short[start] === long[start + 1] &&
    short[start + 1] === long[start] &&
    short.slice(start + 2) === long.slice(start + 2)
  );
}

/** Whether two descriptions have most of their words in common. */
function alike(one: string, other: string): boolean {
  const [a, b] = [wordsOf(one), wordsOf(other)];
  const common = [...a].filter((word) => b.has(word)).length;
  return common >= LEAST_COMMON && common / Math.min(a.size, b.size) >= IMITATES;
}

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]{3,40}/gu) ?? []);
}
