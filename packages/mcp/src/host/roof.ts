// The servers of a host: added, started, stopped, and what they offer kept in one catalogue.
import type { Client } from "../client/client.js";
import type { ClientOptions, Dialer } from "../client/connect-options.js";
import { LocalError } from "../jsonrpc/local-error.js";
import { visibleText } from "../jsonrpc/visible-text.js";
import { Catalogue } from "./catalogue.js";
import { Consent } from "./consent.js";
import { messageOf } from "./decision.js";
import type { HostEvent } from "./host-event.js";
import type { AddOptions, Dial, HostOptions } from "./host-options.js";
import { type HostTarget, isCommand, snapshot, urlTarget } from "./host-target.js";
import { launchOf } from "./launch.js";
import { ManagedServer } from "./managed-server.js";
import { QuestionDesk } from "./questions.js";
import { RootsDesk } from "./roots.js";
import { SamplingDesk } from "./sampling.js";
import { readList } from "./server-lists.js";
import { checkServerName } from "./server-name.js";
import { Slots } from "./slots.js";

const START_TIMEOUT_MS = 60_000;
/** Starting is what processors are busy with; a page of configuration must not stand still the machine. */
const STARTS_AT_ONCE = 8;
/** Beyond this it is a mistake, not a configuration. */
const MOST_SERVERS = 1_000;

export class Roof {
  readonly catalogue: Catalogue;
  readonly #options: HostOptions;
  readonly #dial: Dial;
  readonly #servers = new Map<string, ManagedServer>();
  /** The connections the catalogue has lists of, and the reading of those lists. */
  readonly #listed = new Map<string, { readonly client: Client; readonly reading: Promise<void> }>();
  readonly #consent: Consent;
  readonly #slots: Slots;
  readonly #sampling: SamplingDesk | undefined;
  readonly #questions: QuestionDesk | undefined;
  readonly #roots: RootsDesk | undefined;
  readonly #unwatch: () => void;
  #closed = false;

  constructor(options: HostOptions, dial: Dial) {
    this.#options = options;
    this.#dial = dial;
    const { authorize, approvals, decisionTimeoutMs: timeoutMs, startsAtOnce = STARTS_AT_ONCE } = options;
    this.#consent = new Consent({ authorize, approvals, timeoutMs });
    this.#slots = new Slots(startsAtOnce);
    const { sampling, elicit, roots } = options;
    const warn = (server: string | undefined, text: string): void => this.tell({ type: "warning", server, text });
    this.#sampling = sampling && new SamplingDesk(sampling, (event) => this.tell(event));
    this.#questions = elicit && new QuestionDesk({ elicit, timeoutMs, warn });
    this.#roots = roots && new RootsDesk(roots, { timeoutMs, warn: (text) => warn(undefined, text) });
    this.#unwatch = this.#roots?.watch(() => this.#rootsChanged()) ?? (() => undefined);
    this.catalogue = new Catalogue({
      changed: (server, kinds) => this.tell({ type: "catalogue", server, kinds }),
      failed: (server, kind, error) => warn(server, `Its list of ${kind} could not be read: ${messageOf(error)}`),
    });
  }

  get servers(): Iterable<ManagedServer> {
    return this.#servers.values();
  }

  /** Throws UNKNOWN_SERVER. */
  get(name: string): ManagedServer {
    const server = this.#servers.get(name);
    if (server !== undefined) return server;
    const names = [...this.#servers.keys()].join(", ") || "none";
    throw new LocalError("UNKNOWN_SERVER", `There is no server ${JSON.stringify(name)} (there are: ${names})`);
  }

  find(name: string): ManagedServer | undefined {
    return this.#servers.get(name);
  }

  add(name: string, given: HostTarget, options: AddOptions): ManagedServer {
    if (this.#closed) throw new LocalError("CLOSED", `The server "${name}" was not added: the host is closed`);
    checkServerName(name, this.#servers.keys());
    if (this.#servers.size >= MOST_SERVERS)
      throw new LocalError("LIMIT", `The server "${name}" was not added: there are ${MOST_SERVERS} already`);
    // What is shown is what is started, whatever becomes of the caller's object.
    const target = snapshot(given);
    const launch = launchOf(name, target);
    launch.catch(() => undefined);
    const server: ManagedServer = new ManagedServer({
      name,
      trusted: options.trusted === true,
      launch,
      dial: this.#dialing(name, target),
      client: { ...this.#clientOptions(name), ...this.#options.client, ...options.client },
      startTimeoutMs: options.startTimeoutMs ?? this.#options.startTimeoutMs ?? START_TIMEOUT_MS,
      restart: this.#options.restart ?? {},
      consent: this.#consent,
      slots: this.#slots,
      changed: () => this.#changed(server),
    });
    this.#servers.set(name, server);
    return server;
  }

  /** Resolves when it is up and its lists are in, or its first attempt has failed. Rejects with CLOSED. */
  async start(server: ManagedServer): Promise<void> {
    if (this.#closed) throw new LocalError("CLOSED", `The server "${server.name}" was not started: the host is closed`);
    await server.start();
    await this.#listed.get(server.name)?.reading;
  }

  async remove(name: string): Promise<void> {
    // Gone at once for everybody else, so that nobody starts it again while it ends.
    const stopping = this.get(name).stop();
    this.#servers.delete(name);
    await stopping;
    this.#sampling?.forget(name);
    this.#roots?.forget(name);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#unwatch();
    await Promise.all(Array.from(this.#servers.values(), (server) => server.stop()));
  }

  tell(event: HostEvent): void {
    try {
      this.#options.onEvent?.(event);
    } catch {
      // Whoever watches must not stop what they watch.
    }
  }

  // Tried once at once, so that a target that cannot be reached from here is the caller's error.
  #dialing(name: string, target: HostTarget): () => Dialer {
    let first: Dialer | undefined = this.#dialer(name, target);
    return () => {
      const dialer = first ?? this.#dialer(name, target);
      first = undefined;
      return dialer;
    };
  }

  #dialer(name: string, target: HostTarget): Dialer {
    if (typeof target === "function") return { link: target };
    if (isCommand(target)) return this.#dial(target, name);
    const url = urlTarget(target);
    return url === undefined ? (target as Dialer) : this.#dial(url, name);
  }

  // Each server has a client of its own: nothing one of them says or asks is seen by another.
  #clientOptions(name: string): ClientOptions {
    const { clientInfo, urlQuestions } = this.#options;
    const warn = (text: string): void => this.tell({ type: "warning", server: name, text });
    const sampling = this.#options.sampling?.model.tools === true ? { sampling: { tools: {} } } : {};
    const questions = urlQuestions === true ? { elicitation: { form: {}, url: {} } } : {};
    return {
      ...(clientInfo === undefined ? {} : { clientInfo }),
      capabilities: { ...sampling, ...questions },
      ...(this.#sampling === undefined ? {} : { sample: this.#sampling.for(name) }),
      ...(this.#questions === undefined ? {} : { elicit: this.#questions.for(name) }),
      ...(this.#roots === undefined ? {} : { roots: this.#roots.for(name) }),
      onWarning: warn,
      onNoise: (line) => warn(`It wrote something else than messages: ${visibleText(line, 200)}`),
      onLog: ({ level, data }) => this.tell({ type: "log", server: name, level, data }),
      onListChanged: ({ kind }) => {
        if (kind !== "resource") void this.catalogue.outdated(name, kind);
      },
    };
  }

  #changed(server: ManagedServer): void {
    const { name, client } = server;
    if (client !== this.#listed.get(name)?.client) {
      this.#listed.delete(name);
      this.catalogue.remove(name);
      if (client !== undefined) {
        const warn = (text: string): void => this.tell({ type: "warning", server: name, text });
        const reading = this.catalogue.add(name, (kind) => readList(kind, client, { server, warn }));
        this.#listed.set(name, { client, reading });
      }
    }
    this.tell({ type: "server", status: server.status });
  }

  #rootsChanged(): void {
    const roots = this.#roots;
    if (roots === undefined) return;
    for (const { name, client } of this.#servers.values()) {
      try {
        client?.setRoots(roots.for(name));
      } catch (error) {
        this.tell({ type: "warning", server: name, text: messageOf(error) });
      }
    }
  }
}
