// What is kept in streams of Redis: news for all, letters to one process, and what was sent on streams of clients. And records.
import { randomBytes } from "node:crypto";
import type { KeptStream, StreamBounds, StreamPiece } from "../http/server/exchange.js";
import {
  type Bus,
  type BusListener,
  checkRecord,
  joined,
  lastOf,
  LETTERS,
  RECORDS,
  type RecordStore,
  type StreamStore,
} from "../cluster/stores.js";
import { digest, type Door, idOfSealed, isForeign, placeOf, type Vault } from "./door.js";
import { exactValue } from "../jsonrpc/exact-numbers.js";
import type { TaskRecord } from "../server/tasks/task-store.js";
import {
  APPEND_STREAMS,
  CARRY_STREAM,
  CARRY_TASK,
  DELETE_RECORD,
  LIST_RECORDS,
  PUT_RECORD,
  TOUCH_SESSION,
} from "./redis-scripts.js";

/** Texts on the bus that a process which was away may still read: beyond them it is told that it missed some. */
const BUS_LENGTH = 10_000;
/** Milliseconds one read of the bus waits. */
const BUS_WAIT_MS = 1_000;
/** Texts in one read. */
const BUS_PIECE = 500;
/** A bus nobody has used for an hour. */
const BUS_LIFE_MS = 3_600_000;
/** Who reads a text of the bus later than this has missed it. */
const BUS_TEXT_MS = 60_000;
/** Milliseconds before the bus is read again after it could not be. */
const BUS_RETRY_MS = 250;

export interface Place {
  readonly door: Door;
  readonly vault: Vault;
  readonly prefix: string;
}

/** How a bus is kept. */
export interface BusKind {
  readonly name: string;
  /** Texts at a time: the oldest go first. */
  readonly length: number;
  /** Milliseconds after which one that nobody uses is gone. */
  readonly lifeMs: number;
  /** The one who reads takes away what it has read. */
  readonly takesAway: boolean;
}

const NEWS: BusKind = { name: "bus", length: BUS_LENGTH, lifeMs: BUS_LIFE_MS, takesAway: false };
export const MAIL: BusKind = { name: "mail", length: LETTERS, lifeMs: BUS_TEXT_MS, takesAway: true };

export class RedisBus implements Bus {
  readonly #place: () => Place;
  readonly #kind: BusKind;
  /** Tells our texts from those of a process of this name that was here before. */
  readonly #run: string = randomBytes(9).toString("base64url");
  /** The numbers of our texts, by what they are counted in. */
  readonly #numbers = new Map<string, number>();

  constructor(place: () => Place, kind: BusKind = NEWS) {
    this.#place = place;
    this.#kind = kind;
  }

  async publish(from: string, text: string, topic = ""): Promise<void> {
    const { door, vault } = this.#place();
    const key = this.#key(topic);
    const { length, lifeMs, takesAway } = this.#kind;
    // Letters go to ever other processes: they are counted together.
    const counted = takesAway ? "" : key;
    const number = (this.#numbers.get(counted) ?? 0) + 1;
    this.#numbers.set(counted, number);
    const sealed = vault.seal(`${key} ${from}`, `${this.#run} ${number} ${text}`, BUS_TEXT_MS);
    // Sent together: the second only gives it its time again.
    const added = door.run("XADD", [key, "MAXLEN", "~", String(length), "*", "f", from, "d", sealed]);
    await Promise.all([added, door.run("PEXPIRE", [key, String(lifeMs)])]);
  }

  async listen(listener: BusListener, topic = ""): Promise<() => void> {
    const { door } = this.#place();
    const reader = await door.another();
    const key = this.#key(topic);
    const newest = door.run("XREVRANGE", [key, "+", "-", "COUNT", "1"]).catch((error: unknown) => {
      reader.close();
      throw error;
    });
    const last = (await newest) as [string, string[]][];
    const loop = { ended: false, key, heard: new Heard() };
    void this.#read(reader, last[0]?.[0] ?? "0-0", listener, loop);
    return () => {
      loop.ended = true;
      reader.close();
    };
  }

  /** Reads until it is ended. After a failure it looks whether what it read last is still there: if not, some may be missed. */
  async #read(reader: Door, from: string, listener: BusListener, loop: BusLoop): Promise<void> {
    const { key } = loop;
    const { takesAway } = this.#kind;
    let last = from;
    let failed = false;
    while (!loop.ended) {
      try {
        if (failed && last !== "0-0" && !takesAway) {
          const kept = (await reader.run("XRANGE", [key, last, last])) as unknown[];
          if (kept.length === 0) listener.missed();
        }
        failed = false;
        const wait = ["COUNT", String(BUS_PIECE), "BLOCK", String(BUS_WAIT_MS)];
        const found = await reader.run("XREAD", [...wait, "STREAMS", key, last], BUS_WAIT_MS);
        for (const [id, fields] of entriesOf(found)) {
          last = id;
          if (loop.ended) break;
          this.#tell(listener, loop, fields);
        }
        if (takesAway && found !== null) await reader.run("XTRIM", [key, "MINID", last]);
      } catch {
        failed = true;
        if (!loop.ended) await new Promise((resolve) => setTimeout(resolve, BUS_RETRY_MS));
      }
    }
  }

  /** Tells of a text that nobody changed, once, whoever wrote it here and how often. */
  #tell(listener: BusListener, { key, heard }: BusLoop, fields: readonly string[]): void {
    const [, from = "", , sealed = ""] = fields;
    const opened = this.#place().vault.open(`${key} ${from}`, sealed);
    const [run = "", number = ""] = opened?.split(" ", 2) ?? [];
    if (opened === undefined) return listener.missed();
    const { isNew, isGap } = heard.take(`${from} ${run}`, Number(number));
    if (isGap && !this.#kind.takesAway) listener.missed();
    if (isNew) listener.hear(from, opened.slice(run.length + number.length + 2));
  }

  #key(topic: string): string {
    return `${this.#place().prefix}:${this.#kind.name}${topic && `:${topic}`}`;
  }
}

interface BusLoop {
  readonly ended: boolean;
  readonly key: string;
  readonly heard: Heard;
}

/** Processes whose numbers are remembered, and numbers that are: beyond them the oldest go. */
const MOST_HEARD = 1_000;

/** The numbers of texts that were heard: each counts once, and what is left out is noticed. */
class Heard {
  readonly #last = new Map<string, number>();
  /** Those that were left out: they may be on their way yet. */
  readonly #missing = new Set<string>();

  /** `isGap`: some before it were left out, and nobody has been told so yet. */
  take(sender: string, number: number): { readonly isNew: boolean; readonly isGap: boolean } {
    const last = this.#last.get(sender);
    if (last !== undefined && number <= last)
      return { isNew: this.#missing.delete(`${sender} ${number}`), isGap: false };
    this.#last.delete(sender);
    this.#last.set(sender, number);
    if (this.#last.size > MOST_HEARD) this.#last.delete(this.#last.keys().next().value as string);
    // What a process said before we listened is not missed.
    if (last === undefined || number === last + 1) return { isNew: true, isGap: false };
    for (let n = Math.max(last + 1, number - MOST_HEARD); n < number; n++) this.#missing.add(`${sender} ${n}`);
    for (const oldest of this.#missing) {
      if (this.#missing.size <= MOST_HEARD) break;
      this.#missing.delete(oldest);
    }
    return { isNew: true, isGap: true };
  }
}

/** The entries in the answer of XREAD for one stream: a list of pairs in RESP2, a map in RESP3, which clients show in ways of their own. */
function entriesOf(found: unknown): readonly (readonly [string, readonly string[]])[] {
  if (found === null || found === undefined) return [];
  const [first, second] = Array.isArray(found) ? (found as unknown[]) : [[...pairsOf(found)][0], undefined];
  return (Array.isArray(first) ? first[1] : second) as readonly (readonly [string, readonly string[]])[];
}

function pairsOf(found: object): Iterable<readonly unknown[]> {
  return found instanceof Map ? found : Object.entries(found);
}

// Streams, whose pieces are kept in the order of their events: each an entry of a stream of Redis that is named by its last event.

/** Streams in one script: beyond them another one begins, so that none keeps Redis from others for long. */
const BATCH = 200;
/** Characters in one script, but for a piece that is longer. */
const BATCH_TEXT = 1024 * 1024;
/** Places of a Redis Cluster over which streams are spread: what is told at once costs a command for each of them. */
const SHARDS = 16;

/** Pieces that were not sent yet, those of one stream joined to one. */
interface Appending {
  readonly key: string;
  piece: StreamPiece;
  readonly bounds: StreamBounds;
  readonly waiting: { resolve(kept: boolean): void; reject(error: unknown): void }[];
}

export class RedisStreams implements StreamStore {
  readonly #place: () => Place;
  #next = new Map<string, Appending>();
  #sending = false;
  #isCluster = false;

  constructor(place: () => Place) {
    this.#place = place;
  }

  append(stream: string, piece: StreamPiece, bounds: StreamBounds): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const known = this.#next.get(stream);
      const { ended, events } = piece;
      this.#isCluster = this.#place().door.isCluster;
      if (known !== undefined && !known.piece.ended && lastOf(known.piece) === piece.after) {
        known.piece = { ...known.piece, ended, events: [...known.piece.events, ...events] };
        known.waiting.push({ resolve, reject });
      } else {
        // One that does not follow is refused there, or leaves a gap, behind what was added before it.
        const name = known === undefined ? stream : `${stream} ${this.#next.size}`;
        this.#next.set(name, { key: this.#key(stream), piece, bounds, waiting: [{ resolve, reject }] });
      }
      this.#send();
    });
  }

  async read(stream: string, after: number): Promise<KeptStream | undefined> {
    const { door, vault } = this.#place();
    const key = this.#key(stream);
    const [later, newest] = await Promise.all([
      door.run("XRANGE", [key, `${after + 1}-0`, "+"]),
      door.run("XREVRANGE", [key, "+", "-", "COUNT", "1"]),
    ]);
    const entries = later as readonly Entry[];
    const all = entries.length > 0 ? entries : (newest as readonly Entry[]);
    const pieces = all.map(([id, fields]) => opened(vault, key, id, fields[1] ?? ""));
    return pieces.some((piece) => piece === undefined) ? undefined : joined(pieces as readonly StreamPiece[], after);
  }

  async delete(streams: readonly string[]): Promise<void> {
    await Promise.all(streams.map((stream) => this.#place().door.run("DEL", [this.#key(stream)])));
  }

  /** Sends one after the other: what arrives meanwhile is sent together by the next. */
  #send(): void {
    if (this.#sending || this.#next.size === 0) return;
    this.#sending = true;
    setImmediate(() => {
      const [batch, rest] = this.#batch();
      this.#next = rest;
      void this.#sent(batch).finally(() => {
        this.#sending = false;
        this.#send();
      });
    });
  }

  #batch(): readonly [batch: readonly Appending[], rest: Map<string, Appending>] {
    const all = [...this.#next];
    let length = 0;
    const over = all.findIndex(([, { piece }], at) => {
      length += piece.events.reduce((sum, { text }) => sum + text.length, 0);
      return at > 0 && (at >= BATCH || length > BATCH_TEXT);
    });
    const end = over === -1 ? all.length : over;
    return [all.slice(0, end).map(([, appending]) => appending), new Map(all.slice(end))];
  }

  async #sent(batch: readonly Appending[]): Promise<void> {
    // A script of a Cluster is given keys of one place.
    const groups = new Map<string, Appending[]>();
    for (const each of batch) {
      const group = this.#isCluster ? each.key.slice(0, each.key.indexOf("}")) : "";
      groups.set(group, [...(groups.get(group) ?? []), each]);
    }
    await Promise.all([...groups.values()].map((group) => this.#sentGroup(group)));
  }

  async #sentGroup(group: readonly Appending[]): Promise<void> {
    try {
      const { door, vault } = this.#place();
      const args = group.flatMap(({ key, piece, bounds }) => {
        const id = entryId(piece);
        const sealed = vault.seal(`${key} ${id}`, written(piece), bounds.lifeMs);
        const most = [bounds.pieces, bounds.bytes, bounds.lifeMs].map(String);
        return [String(piece.after), id, sealed, piece.ended ? "1" : "0", ...most];
      });
      const keys = group.map(({ key }) => key);
      const kept = (await door.script(APPEND_STREAMS, keys, args)) as readonly number[];
      for (const [at, { waiting }] of group.entries()) for (const { resolve } of waiting) resolve(kept[at] === 1);
    } catch (error) {
      for (const { waiting } of group) for (const { reject } of waiting) reject(error);
    }
  }

  #key(stream: string): string {
    const name = digest(stream);
    const shard = Buffer.from(name, "base64url").readUInt8(0) % SHARDS;
    return `{${this.#place().prefix}:e${shard}}:${name}`;
  }
}

type Entry = readonly [id: string, fields: readonly string[]];

/** A piece without events stands behind the event before it: first what begins a stream, then what ends it. */
function entryId(piece: StreamPiece): string {
  const place = piece.events.length > 0 ? 1 : piece.ended ? 3 : 2;
  return `${lastOf(piece)}-${place}`;
}

/** A message never holds a line break. */
function written({ about, after, ended, events }: StreamPiece): string {
  return [JSON.stringify([about, after, ended]), ...events.map(({ text }) => text)].join("\n");
}

function opened(vault: Vault, key: string, id: string, sealed: string): StreamPiece | undefined {
  const lines = vault.open(`${key} ${id}`, sealed)?.split("\n");
  if (lines === undefined) return undefined;
  const [head = "[]", ...texts] = lines;
  const [about, after, ended] = JSON.parse(head) as [string, number, boolean];
  return { about, after, ended, events: texts.map((text, at) => ({ sequence: after + 1 + at, text })) };
}

// Records.

/** Records of which is remembered that they were there, and those that were deleted since. */
const MOST_SEEN = 10_000;

/**
 * What this process knows of records: one that was there and then was not has been deleted, such as a consent that was taken back,
 * and whoever puts it back is not believed.
 */
class SeenRecords {
  readonly #last = new Map<string, string>();
  readonly #gone = new Set<string>();

  /** Whether a record that is there now may be read. */
  there(key: string, id: string): boolean {
    if (this.#gone.has(id)) return false;
    this.#last.delete(key);
    this.#last.set(key, id);
    if (this.#last.size > MOST_SEEN) this.#last.delete(this.#last.keys().next().value as string);
    return true;
  }

  /** `now`: the record that is there under another name, as it was carried there. */
  gone(key: string, now?: string): void {
    const id = this.#last.get(key);
    if (id === undefined) return;
    this.#last.delete(key);
    if (id === now) return;
    this.#gone.add(id);
    if (this.#gone.size > MOST_SEEN) this.#gone.delete(this.#gone.keys().next().value as string);
  }
}

/** As it is sealed. `at`: when it was put. `id`: what told it from all others, where it was sealed anew since. */
type SealedRecord = readonly [name: string, text: string, group: string, at: number, id?: string];

interface KeptRecord {
  readonly name: string;
  readonly text: string;
  readonly group: string;
  readonly at: number;
  readonly id: string;
}

/** The record of a sealed text that was opened. */
function recordOf(text: string, sealed: string): KeptRecord {
  const [name, kept, group, at, id = idOfSealed(sealed)] = JSON.parse(text) as SealedRecord;
  return { name, text: kept, group, at, id };
}

interface RecordKeys {
  readonly index: string;
  readonly key: string;
}

/** Where a record may stand: one place for each key of the fleet, that of the first last. */
function recordKeys({ prefix, vault }: Place, group: string, name: string): readonly RecordKeys[] {
  const names = vault.hidden(name);
  const all = vault.hidden(`group ${group}`).map((hidden, at) => {
    const tag = `{${prefix}:r:${hidden}}`;
    return { index: `${tag}:all`, key: `${tag}:${names[at]}` };
  });
  return all.reverse();
}

/**
 * Each record is a key of its own; an index of its group, in the same slot, says until when each lives. While keys are changed a
 * record may stand at several places. The one of the first key is looked at last: what is carried there meanwhile is found.
 */
export class RedisRecords implements RecordStore {
  readonly #place: () => Place;
  readonly #seen = new SeenRecords();

  constructor(place: () => Place) {
    this.#place = place;
  }

  async put(group: string, name: string, text: string, lifeMs: number): Promise<void> {
    checkRecord(text);
    const place = this.#place();
    const { door, vault } = place;
    const keys = recordKeys(place, group, name);
    const { index, key } = keys.at(-1) as RecordKeys;
    const older = await Promise.all(
      keys.slice(0, -1).map(async (other) => ({ other, was: await this.#read(other.key) })),
    );
    // Clocks differ: what is put later counts as later than what it replaces.
    const at = Math.max(vault.now(), ...older.map(({ was }) => (was[0]?.at ?? 0) + 1));
    const sealed = vault.seal(key, JSON.stringify([name, text, group, at]), lifeMs);
    await door.script(PUT_RECORD, [index, key], [sealed, String(Math.ceil(lifeMs)), String(RECORDS)]);
    this.#seen.there(key, idOfSealed(sealed));
    // It would be read again once the newer one has ended.
    for (const { other, was } of older)
      if (was[0] !== undefined) await door.script(DELETE_RECORD, [other.index, other.key], [was[1]]);
  }

  async get(group: string, name: string): Promise<string | undefined> {
    const absent: string[] = [];
    let newest: KeptRecord | undefined;
    for (const { key } of recordKeys(this.#place(), group, name)) {
      const [record, sealed] = await this.#read(key);
      if (sealed === "") absent.push(key);
      if (record !== undefined && this.#seen.there(key, record.id)) newest = newer(newest, record);
    }
    for (const key of absent) this.#seen.gone(key, newest?.id);
    return newest?.text;
  }

  async list(group: string): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, KeptRecord>();
    for (const { index } of recordKeys(this.#place(), group, "")) {
      const flat = (await this.#place().door.script(LIST_RECORDS, [index], [])) as string[];
      for (let at = 0; at < flat.length; at += 2) {
        const [key, sealed] = flat.slice(at, at + 2) as [string, string];
        const record = this.#open(key, sealed);
        if (record === undefined || !this.#seen.there(key, record.id)) continue;
        found.set(record.name, newer(found.get(record.name), record));
      }
    }
    return new Map([...found].map(([name, { text }]) => [name, text]));
  }

  async delete(group: string, name: string): Promise<void> {
    for (const { index, key } of recordKeys(this.#place(), group, name)) {
      const deleted = (await this.#place().door.script(DELETE_RECORD, [index, key], [])) as string | null;
      if (deleted !== null) this.#seen.there(key, this.#open(key, deleted)?.id ?? idOfSealed(deleted));
      this.#seen.gone(key);
    }
  }

  /** What is there, and its sealed text: "" for nothing. */
  async #read(key: string): Promise<readonly [KeptRecord | undefined, string]> {
    const sealed = ((await this.#place().door.run("GET", [key])) as string | null) ?? "";
    return [this.#open(key, sealed), sealed];
  }

  #open(key: string, sealed: string): KeptRecord | undefined {
    const text = this.#place().vault.open(key, sealed);
    return text === undefined ? undefined : recordOf(text, sealed);
  }
}

function newer(one: KeptRecord | undefined, other: KeptRecord): KeptRecord {
  return one !== undefined && one.at > other.at ? one : other;
}

// Carrying over to the first key what others have sealed, so that they can be given up: by processes that have both.

/** Keys that are looked at together. */
const SCAN = 200;
/** Tries for what changes meanwhile. */
const TRIALS = 5;

/** Resolves when everything that was kept when it began is sealed with the first key, and stands under its names. */
export async function carryOver(place: Place): Promise<void> {
  for (const master of await place.door.masters()) {
    let cursor = "0";
    do {
      const args = [cursor, "MATCH", `*${place.prefix}:*`, "COUNT", String(SCAN)];
      const [next, keys] = (await master("SCAN", args)) as [string, string[]];
      await Promise.all(keys.map((key) => carryKey(place, key)));
      cursor = next;
    } while (cursor !== "0");
  }
}

/** False where it has changed meanwhile. */
type Carry = (place: Place, key: string) => Promise<boolean>;

async function carryKey(place: Place, key: string): Promise<void> {
  const carry = carrierOf(place.prefix, key);
  try {
    for (let trial = 0; trial < TRIALS; trial++) if ((await carry?.(place, key)) !== false) return;
  } catch (error) {
    // Something else that somebody put there.
    if (isForeign(error)) return;
    throw error;
  }
  throw new Error(`${key} changes too often`);
}

function carrierOf(prefix: string, key: string): Carry | undefined {
  if (key.startsWith(`${prefix}:s:`)) return carrySession;
  if (key.startsWith(`${prefix}:m:`)) return carryMark;
  if (key.startsWith(`{${prefix}:e`)) return carryStream;
  if (key.startsWith(`{${prefix}:t}:`)) return carryTask;
  return key.startsWith(`{${prefix}:r:`) && !key.endsWith(":all") ? carryRecord : undefined;
}

const carrySession: Carry = async ({ door, vault }, key) => {
  const [owner, fence, sealed] = (await door.run("HMGET", [key, "owner", "fence", "text"])) as (string | null)[];
  const place = placeOf(key, owner ?? "", Number(fence));
  const found = vault.unseal(place, sealed ?? "");
  if (found === undefined || found.isNewest) return true;
  const [again, left] = [vault.seal(place, found.text, found.leftMs), String(Math.ceil(found.leftMs))];
  // Who has changed it meanwhile has sealed it with the first key.
  await door.script(TOUCH_SESSION, [key], [owner ?? "", sealed ?? "", again, left]);
  return true;
};

const carryMark: Carry = async ({ door, vault, prefix }, key) => {
  const found = vault.unseal(key, ((await door.run("GET", [key])) as string | null) ?? "");
  if (found === undefined || found.isNewest) return true;
  const name = `${prefix}:m:${vault.hidden(found.text)[0]}`;
  const mark = vault.seal(name, found.text, found.leftMs);
  await door.run("SET", [name, mark, "NX", "PX", String(Math.ceil(found.leftMs))]);
  return true;
};

const carryTask: Carry = async ({ door, vault, prefix }, key) => {
  const sealed = ((await door.run("HGET", [key, "text"])) as string | null) ?? "";
  const found = vault.unseal(key, sealed);
  if (found === undefined || found.isNewest) return true;
  const { principal, task } = exactValue(found.text) as TaskRecord;
  const indexes = vault.hidden(principal ?? "").map((name) => `{${prefix}:t}:of:${name}`);
  const args = [sealed, vault.seal(key, found.text, found.leftMs), String(Math.ceil(found.leftMs)), task.taskId];
  return (await door.script(CARRY_TASK, [key, ...indexes], args)) === 1;
};

const carryStream: Carry = async ({ door, vault }, key) => {
  const entries = (await door.run("XRANGE", [key, "-", "+"])) as readonly Entry[];
  let isOld = false;
  const again = entries.flatMap(([id, [, sealed = "", , length = "", , ended = ""]]) => {
    const place = `${key} ${id}`;
    const found = vault.unseal(place, sealed);
    if (found === undefined || found.isNewest) return [id, sealed, length, ended];
    isOld = true;
    return [id, vault.seal(place, found.text, found.leftMs), length, ended];
  });
  if (!isOld) return true;
  const last = entries.at(-1)?.[0] ?? "";
  return (await door.script(CARRY_STREAM, [key], [String(entries.length), last, ...again])) === 1;
};

/** It is put where the first key has it before it is taken away, and taken away there again where it was deleted meanwhile. */
const carryRecord: Carry = async (place, key) => {
  const { door, vault } = place;
  const read = async (from: string): Promise<string> => ((await door.run("GET", [from])) as string | null) ?? "";
  const sealed = await read(key);
  const found = vault.unseal(key, sealed);
  if (found === undefined || found.isNewest) return true;
  const { name, text, group, at, id } = recordOf(found.text, sealed);
  const keys = recordKeys(place, group, name);
  const [first, old] = [keys.at(-1), keys.find((each) => each.key === key)];
  if (first === undefined || old === undefined || first === old) return true;
  const there = await read(first.key);
  const opened = vault.open(first.key, there);
  const kept = opened === undefined ? undefined : recordOf(opened, there);
  // Another process carries it.
  if (kept?.id === id) return true;
  const isNewer = kept === undefined || kept.at < at;
  const again = vault.seal(first.key, JSON.stringify([name, text, group, at, id]), found.leftMs);
  if (isNewer) {
    const args = [again, String(Math.ceil(found.leftMs)), String(RECORDS), there];
    if ((await door.script(PUT_RECORD, [first.index, first.key], args)) !== 1) return false;
  }
  const isDeleted = (await door.script(DELETE_RECORD, [old.index, old.key], [sealed])) !== null;
  if (isDeleted || !isNewer) return true;
  await door.script(DELETE_RECORD, [first.index, first.key], [again]);
  return false;
};
