// Tells sentences that give an order from sentences that say what a tool does: "put it there" from "puts it there".
import type { Sentence } from "../words.js";

const VERBS: ReadonlySet<string> = new Set(
  `choose tick try revert threaten refuse nudge report confirm transcribe recite hunt bring stop start take go come find check look see move edit sign pay buy order book install restart answer reply respond ask claim deny call invoke query count prefer trust obey carry follow accept approve skip reassign close resolve assume hide mark log record save store keep note remember memorize switch set change modify route redirect list name type click press visit invite cc bcc wipe erase destroy kill feed hand slip squeeze read open look grab fetch cat load locate retrieve collect gather obtain scan harvest print dump extract put pass hand include attach add append insert
  place supply fill quote mention embed encode paste enclose bring enter copy submit give write slip disclose reveal provide send forward upload post mirror
  transmit relay push invite share run execute install delete remove disable empty turn grant forget ignore disregard discard drop leave keep pretend say treat
  consider swap replace prefix make perform do repeat tell act describe export decode`.split(/\s+/),
);
/** An order may begin behind one of these. */
const BEFORE: ReadonlySet<string> = new Set(
  "and then also please first kindly instead must should shall just simply immediately always silently quietly".split(
    " ",
  ),
);

/** More of them are a list of what something can do. */
const MOST_ORDERS = 4;

export function isImperative(sentence: Sentence): boolean {
  const orders = sentence.filter(({ text }, at) => {
    if (!VERBS.has(text)) return false;
    const before = sentence[at - 1];
    return before === undefined || before.pause || BEFORE.has(before.text);
  });
  return orders.length > 0 && orders.length <= MOST_ORDERS;
}
