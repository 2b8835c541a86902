// Names what a server offers so that it is told apart from what all others offer: `server__tool`, within 64 characters.
import { digestOf } from "./digest.js";

/** What the interfaces of models allow. */
const MOST_CHARACTERS = 64;
const DIGEST_CHARACTERS = 10;

// A server that has no "__" and does not end in "_" makes the first "__" of the whole name the seam.
const PLAIN_SERVER = /^[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*$/;
const PLAIN_ITEM = /^[A-Za-z0-9_-]+$/;
// Names made with a digest are a family of their own: nothing plain may look like one of them.
const LIKE_DIGEST = /_[0-9a-f]{10}$/;

/**
 * The name under which `item` of `server` is offered: `server__item` where that is within 64 letters, digits, "-" and
 * "_" and can mean nothing else; otherwise as much of it as fits and a digest of both names. It depends on nothing but the two.
 */
export async function qualifiedName(server: string, item: string): Promise<string> {
  const whole = `${server}__${item}`;
  const fits = whole.length <= MOST_CHARACTERS && PLAIN_SERVER.test(server) && PLAIN_ITEM.test(item);
  if (fits && !LIKE_DIGEST.test(whole)) return whole;
  const digest = (await digestOf([server, item])).slice(0, DIGEST_CHARACTERS);
  const shown = whole.replace(/[^A-Za-z0-9_-]/gu, "_").slice(0, MOST_CHARACTERS - DIGEST_CHARACTERS - 1);
  return `${shown}_${digest}`;
}
