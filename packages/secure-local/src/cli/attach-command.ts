// `mcp-secure-local attach`: on stdin and stdout the server that `serve` runs already, so that many clients share its servers.
import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { LocalError, nodeRequester, streamableHttpTransport } from "@secure-local/mcp/client/node";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import { linesOf, LONGEST_LINE } from "@secure-local/mcp-tools/record-link";
import { TextLink } from "@secure-local/mcp-tools/text-link";
import { type CommandLine, UsageError } from "./command-line.js";
import { ATTACHED, ATTACHED_ANEW, attachSocket, socketUrl, whyNoAttach } from "./serve-profiles.js";
import { policyFile } from "./settings.js";
import { complain, ExitCode } from "./terminal.js";

/** A client that has said all it wanted may still be waiting for answers. */
const LAST_ANSWERS_MS = 5_000;
/** The id of an `initialize` of ours: the client sees neither it nor its answer. */
const OWN_ID = "mcp-secure-local attach";
const INVALID_REQUEST = -32_600;
const INTERNAL_ERROR = -32_603;

interface Place {
  readonly socket: string;
  readonly url: string;
}

/** Resolves when the client has gone. */
export async function attachCommand(line: CommandLine): Promise<number> {
  if (line.words.length > 0)
    throw new UsageError(`attach takes no "${line.words[0]}"; see mcp-secure-local help attach`);
  const never = whyNoAttach();
  if (never !== undefined) throw new UsageError(never);
  const remedy = remedyOf(line);
  // One that is misspelt runs nowhere, and no advice to start it would help.
  if (line.profile !== undefined)
    await (await import("../policy/load-policy.js")).loadPolicy(policyFile(line), line.profile);
  const { stdin: input, stdout: output } = process;
  const end = (): void => void input.destroy();
  process.once("SIGINT", end).once("SIGTERM", end);
  // Who stops reading has gone.
  output.on("error", end);
  const find = async (): Promise<Place> => {
    const place = await placeOf(line);
    if (place !== undefined) return place;
    throw new LocalError("UNREACHABLE", `there is no running server to attach to. ${remedy}`);
  };
  // A client keeps the program and goes on once there is a server; a person in a terminal wants to know it now.
  if (input.isTTY) await find();
  const attached = new Attachment(find, (text) => output.write(`${text}\n`), remedy);
  let lines = 0;
  for await (const text of linesOf(input)) await attached.take(text).then(() => lines++);
  await attached.close();
  if (lines === 0) await find();
  process.removeListener("SIGINT", end).removeListener("SIGTERM", end);
  return ExitCode.Ok;
}

/** The server of that very profile, or the one of the whole policy and the profile's path there. */
async function placeOf(line: CommandLine): Promise<Place | undefined> {
  const file = policyFile(line);
  const own = attachSocket(file, line.profile);
  if (await answers(own)) return { socket: own, url: socketUrl(own) };
  if (line.profile === undefined) return undefined;
  const whole = attachSocket(file);
  return (await answers(whole)) ? { socket: whole, url: socketUrl(whole, `/mcp/${line.profile}`) } : undefined;
}

function answers(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const peer = connect(socket, () => {
      peer.destroy();
      resolve(true);
    });
    peer.on("error", () => resolve(false));
  });
}

function remedyOf({ policy, profile }: CommandLine): string {
  const named = [...(policy === undefined ? [] : ["--policy", policy]), ...(profile ? ["--profile", profile] : [])];
  return `Start it, and leave it running: ${["mcp-secure-local serve", ...named].join(" ")}`;
}

type Message = Readonly<Record<string, unknown>>;

/** One client's conversation, over as many links as it takes: a server that was started anew is greeted again. */
class Attachment {
  readonly #find: () => Promise<Place>;
  readonly #write: (text: string) => void;
  readonly #remedy: string;
  /** By this the server tells the clients apart that are attached: questions of one must not reach another. */
  readonly #headers = { [ATTACHED]: randomUUID() };
  /** Whether the client was told anything: a server that does not know this one then has to think that it has read all there is. */
  #told = false;
  /** What the client opened its session with. */
  #hello: Message | undefined;
  #link: Promise<TextLink> | undefined;
  /** Requests without an answer: their texts by their ids. */
  readonly #open = new Map<unknown, string>();
  #settled: (() => void) | undefined;
  /** Ends the wait for the answer to our own greeting. */
  #greeted: ((answer: Message) => void) | undefined;

  constructor(find: () => Promise<Place>, write: (text: string) => void, remedy: string) {
    this.#find = find;
    this.#write = write;
    this.#remedy = remedy;
  }

  /** One line of the client; undefined: one that is too long. Never rejects. */
  async take(text: string | undefined): Promise<void> {
    if (text === undefined) {
      const message = `A message is longer than ${LONGEST_LINE} characters`;
      return this.#write(failure(null, INVALID_REQUEST, message));
    }
    const message = messageOf(text);
    const { id, method } = message;
    if (typeof method === "string" && id !== undefined) this.#open.set(id, text);
    if (method === "initialize") {
      this.#hello = message;
      await this.#drop();
    }
    await this.#send(text, message);
  }

  /** Resolves when the answers have come, or after a while. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      if (this.#open.size === 0) return resolve();
      const timer = setTimeout(resolve, LAST_ANSWERS_MS);
      this.#settled = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    await this.#drop();
  }

  async #send(text: string, { id, method }: Message): Promise<void> {
    try {
      const link = (this.#link ??= this.#connect(method !== "initialize"));
      await (await link).send(text);
    } catch (error) {
      await this.#drop();
      if (this.#open.has(id)) this.#fail(id, error as Error);
    }
  }

  async #connect(greets: boolean): Promise<TextLink> {
    const { url } = await this.#find();
    const headers = this.#headers;
    const transport = streamableHttpTransport({
      ...{ url, headers, requester: nodeRequester(), ownsRequester: true },
      authorizer: {
        headers: () => Promise.resolve<Record<string, string>>(this.#told ? {} : { [ATTACHED_ANEW]: "true" }),
        challenged: () => Promise.resolve(false),
      },
    });
    const link = new TextLink(transport, {
      receive: (text) => this.#receive(text),
      lost: (id, error) => void this.#lost(link, id, error),
      noise: (text) => complain(`mcp-secure-local: ${cleanLine(text)}`),
      ended: () => undefined,
    });
    await link.open();
    if (greets && this.#hello !== undefined) await this.#greet(link, this.#hello);
    return link;
  }

  /** The session of the client, opened once more at a server that does not know it. */
  async #greet(link: TextLink, hello: Message): Promise<void> {
    const answer = new Promise<Message>((resolve) => (this.#greeted = resolve));
    await link.send(JSON.stringify({ ...hello, id: OWN_ID }));
    const { error } = await answer;
    if (error !== undefined) throw new Error((error as { readonly message?: string }).message ?? "it was refused");
    await link.send(JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }));
  }

  #receive(text: string): void {
    const message = messageOf(text);
    const { id, method } = message;
    const answers = method === undefined && id !== undefined;
    if (answers && id === OWN_ID) return this.#greeted?.(message);
    this.#told = true;
    this.#write(text);
    if (answers) this.#answered(id);
  }

  /** A request of a session that the server does not know was not served: it is sent again in a new one, and nothing else is. */
  async #lost(link: TextLink, id: unknown, error: Error & { readonly code?: string }): Promise<void> {
    if (id === OWN_ID) return this.#greeted?.({ error: { message: error.message } });
    const text = this.#open.get(id);
    if (text === undefined) return;
    if (error.code !== "SESSION_EXPIRED" || this.#hello === undefined) return this.#fail(id, error);
    if ((await this.#link?.catch(() => undefined)) === link) await this.#drop();
    await this.#send(text, messageOf(text));
  }

  #fail(id: unknown, error: Error): void {
    const { message } = error;
    if (error instanceof LocalError && error.code === "UNREACHABLE" && message.startsWith("there is no running")) {
      this.#write(failure(id, INTERNAL_ERROR, `Not run: ${message}`));
      return this.#answered(id);
    }
    const lost = `The server that this client is attached to did not answer (${message}); it may have served the request.`;
    this.#write(failure(id, INTERNAL_ERROR, `${lost} The next request connects again. If none runs: ${this.#remedy}`));
    this.#answered(id);
  }

  #answered(id: unknown): void {
    this.#open.delete(id);
    if (this.#open.size === 0) this.#settled?.();
  }

  async #drop(): Promise<void> {
    const link = this.#link;
    this.#link = undefined;
    await link?.then((each) => each.close()).catch(() => undefined);
  }
}

function failure(id: unknown, code: number, message: string): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } });
}

function messageOf(text: string): Message {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Message) : {};
  } catch {
    return {};
  }
}
