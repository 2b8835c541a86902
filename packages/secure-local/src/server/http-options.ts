// What the product asks of the library's HTTP endpoint: door, pages, rate and pings, and the people who may call.
import {
  type Authenticator,
  type AuthOutcome,
  type AuthRequest,
  staticTokenAuthenticator,
  type Refusal,
} from "@secure-local/mcp/auth";
import {
  anonymous,
  type HttpAuthorization,
  type HttpPage,
  type HttpPageReply,
  type HttpServing,
  type HttpStats,
  type ServeHttpOptions,
} from "@secure-local/mcp/http";
import type { AuditSink } from "../audit/audit-event.js";
import { OWNER } from "../audit/call-records.js";
import { SlidingWindow } from "../guard/rate-limits.js";
import { type Load, type Metrics, PROMETHEUS_TYPE } from "../observe/metrics.js";
import { httpRoom, type LoadShedder } from "./load-shedder.js";

/** How many seconds' worth of requests may come at once: a client that starts up lists and reads all it can. */
const BURST_SECONDS = 10;

export interface HttpSettings {
  readonly sse: boolean;
  /** Requests a second one caller may send for as long as it likes. */
  readonly perSecond: number;
  /** Origins of web pages that may call. */
  readonly origins?: readonly string[];
  /** Values of Host that are served besides the own address. */
  readonly publicHosts?: readonly string[];
  /** Undefined: everybody who reaches the server may call. */
  readonly token: string | undefined;
  /** Others who may call, each by a token of their own. Default: nobody. */
  readonly people?: Pick<KnownPeople, "tokens">;
  readonly audit: AuditSink;
  readonly metrics: Metrics;
  readonly gate: Pick<LoadShedder, "refusal" | "short">;
  readonly serving: () => Pick<HttpServing, "stats">;
  /** The metrics of all processes of this server; undefined where it is alone. */
  readonly allMetrics?: (() => Promise<string>) | undefined;
  /**
   * Why what the processes of this server share cannot be reached now, in words for anybody, and undefined while it can; undefined
   * where it is alone.
   */
  readonly whyAway?: (() => string | undefined) | undefined;
  /** Tells the operator what is wrong with the list of people. */
  readonly say?: ((line: string) => void) | undefined;
}

export function httpOptions({
  sse,
  perSecond,
  origins = [],
  publicHosts = [],
  token,
  people = NOBODY,
  audit,
  metrics,
  gate,
  serving,
  allMetrics,
  whyAway,
  say,
}: HttpSettings): ServeHttpOptions {
  const onRefused = (): void => void (metrics.unauthorized += 1);
  const load = (): HttpStats => serving().stats();
  return {
    sse,
    allowedOrigins: origins,
    publicHosts,
    hostAdvice:
      "name that of a proxy in front with the option --public-host of serve, as in --public-host mcp.example.com, or ask at the address that serve printed",
    originOption: "the option --origin of serve, as in --origin https://app.example",
    // A page that may call has to ask first, and to read the answer.
    cors: origins.length > 0,
    pages: httpPages({ audit, metrics, load, gate, allMetrics, whyAway }),
    rate: { perSecond, burst: perSecond * BURST_SECONDS },
    limits: httpRoom(),
    // The library's defaults: who left without a word does not keep its session for half an hour.
    pings: true,
    ...(token === undefined
      ? { authenticate: (head) => gate.refusal(head) ?? anonymous }
      : { authorization: httpAuthorization({ token, people, audit, onRefused, gate, say }) }),
  };
}

// Lets in over HTTP whoever has a token of this server, under the name of whoever it was made for, and records who had none.

/** Refusals recorded a minute: enough to see an attack, too few to fill a disk with. */
const RECORDS = 60;

interface HttpAuthorizationOptions {
  readonly token: string;
  readonly people?: Pick<KnownPeople, "tokens">;
  readonly audit: AuditSink;
  /** Told of every request without the token. */
  readonly onRefused: () => void;
  /** Asked about whoever has it. */
  readonly gate: Pick<LoadShedder, "refusal">;
  readonly say?: HttpSettings["say"];
}

/** Every request without the token is told to `onRefused`, and so many a minute are one record each in the audit log. */
export function httpAuthorization({
  token,
  people = NOBODY,
  audit,
  onRefused,
  gate,
  say,
}: HttpAuthorizationOptions): HttpAuthorization {
  const window = new SlidingWindow();
  return {
    authenticator: behind(gate, following(token, people, say)),
    onRefused(refusal, { path }) {
      if (refusal.status === NO_ROOM) return;
      onRefused();
      if (window.take(RECORDS, performance.now()) === 0) void record(audit, path, refusal);
    },
  };
}

const NOBODY = { tokens: [] };

/** Judges by the list as it is now. Who was let in by an older one, while it was exchanged, is judged once more. */
function following(
  token: string,
  people: Pick<KnownPeople, "tokens">,
  say: (line: string) => void = () => undefined,
): Authenticator {
  let list = people.tokens;
  const make = (): Authenticator => {
    const known = list.map(({ principal, sha256 }) => ({ principal, sha256 }));
    return narrowed(staticTokenAuthenticator([{ token, principal: OWNER }, ...known]), list);
  };
  let made = make();
  const current = (): Authenticator => {
    if (list === people.tokens) return made;
    list = people.tokens;
    return (made = make());
  };
  const told = new Set<string>();
  const refused = (outcome: AuthOutcome, request: AuthRequest): AuthOutcome => {
    const name = outcome.ok ? undefined : ownLine(request, people);
    if (name !== undefined && !told.has(name)) say(inPlainText(name));
    if (name !== undefined) told.add(name);
    return outcome;
  };
  return {
    authenticate(request) {
      const its = current();
      const outcome = its.authenticate(request);
      if (!(outcome instanceof Promise)) return refused(outcome, request);
      return outcome
        .then((later) => (its === current() ? later : current().authenticate(request)))
        .then((last) => refused(last, request));
    },
  };
}

/** The pages of metrics as a request names them, and in no other spelling: what is found by another one is another thing. */
const METRICS = /^(?:https?:\/\/[^/?#]+)?\/metrics(?:\/all)?(?:\?|$)/;
/** Whose tokens were refused that are known: the refusal itself, which its sender reads, names nobody. */
const REFUSED_READERS = new WeakMap<Refusal, string>();
const METRICS_ONLY = { ok: false, status: 403, challenge: "", error: "insufficient_scope" } as const;

/** Keeps a token that was made for the metrics from all else. */
function narrowed(all: Authenticator, tokens: readonly NamedToken[]): Authenticator {
  const readers = new Set(tokens.flatMap(({ principal, only }) => (only === "metrics" ? [principal] : [])));
  if (readers.size === 0) return all;
  const judge = (outcome: AuthOutcome, { url }: AuthRequest): AuthOutcome => {
    if (!outcome.ok || !readers.has(outcome.identity.principal) || METRICS.test(url)) return outcome;
    const refusal = { ...METRICS_ONLY, message: "This token reads /metrics and calls nothing" };
    REFUSED_READERS.set(refusal, outcome.identity.principal);
    return refusal;
  };
  return {
    authenticate(request) {
      const outcome = all.authenticate(request);
      return outcome instanceof Promise ? outcome.then((later) => judge(later, request)) : judge(outcome, request);
    },
  };
}

/** The name of the line that holds the very text which is sent as a token: it was written there in place of its SHA-256. */
function ownLine(request: AuthRequest, { tokens }: Pick<KnownPeople, "tokens">): string | undefined {
  const [, sent = ""] = /^bearer +([0-9a-f]{64})$/i.exec(request.header("authorization") ?? "") ?? [];
  return tokens.find(({ sha256 }) => sha256 === sent.toLowerCase())?.principal;
}

const inPlainText = (name: string): string =>
  `tokens: the line of ${name} holds the token itself where its SHA-256 belongs, so nobody gets in by it; make a new token for ${name}, and write the SHA-256 of that one`;

/** Of a refusal that has nothing to do with the token. */
const NO_ROOM = 503;

/** Strangers hear that they are strangers, whatever else there is to say. */
function behind(gate: HttpAuthorizationOptions["gate"], tokens: Authenticator): Authenticator {
  const judge = (request: AuthRequest, outcome: AuthOutcome): AuthOutcome => {
    const refusal = outcome.ok ? gate.refusal(request) : undefined;
    if (refusal === undefined) return outcome;
    const { text, ...answer } = refusal;
    return { ok: false, ...answer, challenge: "", error: "temporarily_unavailable", message: text };
  };
  return {
    authenticate(request) {
      const outcome = tokens.authenticate(request);
      return outcome instanceof Promise ? outcome.then((later) => judge(request, later)) : judge(request, outcome);
    },
  };
}

/** Nobody waits for this record: the request is refused whether or not the log can take it. */
function record(audit: AuditSink, path: string, refusal: Refusal): Promise<void> {
  const decision = { allowed: false, rule: "serve: bearer token" };
  const principal = REFUSED_READERS.get(refusal);
  const about = { ...(principal === undefined ? {} : { principal }), detail: { path, reason: refusal.message } };
  return audit.record({ kind: "denied", outcome: "unauthorized", decision, ...about }).catch(() => undefined);
}

// The pages beside the HTTP endpoint: health for supervisors, metrics for Prometheus.

interface HttpPagesOptions {
  readonly audit: Pick<AuditSink, "failure" | "checkpoints">;
  readonly metrics: Metrics;
  readonly load: () => Load;
  readonly gate: { readonly short: boolean };
  readonly allMetrics: HttpSettings["allMetrics"];
  readonly whyAway: HttpSettings["whyAway"];
}

/** `/healthz` tells everybody, and no more than that; `/metrics` only whoever may call. */
function httpPages({
  audit,
  metrics,
  load,
  gate,
  allMetrics,
  whyAway,
}: HttpPagesOptions): Readonly<Record<string, HttpPage>> {
  const measured = { "content-type": PROMETHEUS_TYPE, "cache-control": "no-store" };
  return {
    "/healthz": {
      open: true,
      respond: () => {
        if (audit.failure !== undefined) return NO_LOG;
        if (gate.short) return NO_MEMORY;
        const why = whyAway?.();
        if (why !== undefined) return noRedis(why);
        return audit.checkpoints?.fault === undefined ? HEALTHY : NO_CHECKPOINT;
      },
    },
    "/metrics": { respond: () => ({ status: 200, headers: measured, body: metrics.text(load(), audit) }) },
    ...(allMetrics === undefined
      ? {}
      : {
          "/metrics/all": {
            respond: () => allMetrics().then((body) => ({ status: 200, headers: measured, body }), noMetrics),
          },
        }),
  };
}

function noMetrics(): HttpPageReply {
  return health(503, { status: "degraded", reason: "what the processes of this server share cannot be reached" });
}

const HEALTHY = health(200, { status: "ok" });
/** Calls are refused while they cannot be recorded; what is wrong with the log is told by the calls. */
const NO_LOG = health(503, { status: "degraded", reason: "the audit log cannot be written" });
/** Most calls are served without it, and it is away for all processes: a balancer that took them all out would end the rest. */
function noRedis(why: string): HttpPageReply {
  return health(200, { status: "degraded", reason: `what the processes of this server share is away: ${why}` });
}

/** Calls are run and recorded: only what would show that the log was cut off is missing. */
const NO_CHECKPOINT = health(200, { status: "degraded", reason: "no checkpoint of the audit log can be written" });
const NO_MEMORY = health(503, { status: "degraded", reason: "memory is short" });

function health(status: number, body: object): HttpPageReply {
  const headers = { "content-type": "application/json", "cache-control": "no-store" };
  return { status, headers, body: JSON.stringify(body) };
}

// The people who may call besides the owner, each by a token of their own, and whom a change of that list concerns.

/** Somebody else who may call: sessions, tasks, limits, approvals and records of theirs are kept apart by the name. */
export interface NamedToken {
  readonly principal: string;
  readonly sha256: string;
  /** For a program that reads the metrics and calls nothing. Default: all that the policy allows. */
  readonly only?: "metrics";
}

/** What a new list changed, by names. Where none of somebody's tokens is left, whoever has the name now is somebody else. */
export interface PeopleChange {
  readonly came: readonly string[];
  readonly gone: readonly string[];
  /** They have a token less, or another one, and may still call. */
  readonly changed: readonly string[];
  /** How many people there are now who may call. */
  readonly count: number;
  /** How many names there are now whose tokens are for the metrics alone. */
  readonly readers: number;
}

/** One list for a whole process, which may be exchanged while it serves. */
export class KnownPeople {
  #tokens: readonly NamedToken[];
  /** By name, as long as it is one person's: the token that it came with, so that all processes of a server say the same. */
  #lives: ReadonlyMap<string, string>;

  constructor(tokens: readonly NamedToken[] = []) {
    this.#tokens = tokens;
    this.#lives = this.#livesIn(tokens, new Set());
  }

  /** Tells those apart who have a name one after another; undefined for nobody's. */
  lifeOf(name: string): string | undefined {
    return this.#lives.get(name);
  }

  #livesIn(tokens: readonly NamedToken[], lasting: ReadonlySet<string>): ReadonlyMap<string, string> {
    const lives = new Map<string, string>();
    for (const { principal, sha256 } of tokens)
      if (!lives.has(principal))
        lives.set(principal, (lasting.has(principal) ? this.#lives.get(principal) : undefined) ?? sha256);
    return lives;
  }

  /** Another array after each change. */
  get tokens(): readonly NamedToken[] {
    return this.#tokens;
  }

  /** Those who may call, and those whose tokens are for the metrics alone. */
  get names(): readonly string[] {
    return namesIn(this.#tokens);
  }

  get callers(): readonly string[] {
    return namesIn(this.#tokens.filter(mayCall));
  }

  get readers(): readonly string[] {
    return namesIn(this.#tokens.filter((each) => !mayCall(each)));
  }

  replace(tokens: readonly NamedToken[]): PeopleChange {
    const before = new Set(this.#tokens.map(tokenLine));
    const after = new Set(tokens.map(tokenLine));
    const old = this.names;
    const names = namesIn(tokens);
    const differ = new Set(
      [
        ...this.#tokens.filter((each) => !after.has(tokenLine(each))),
        ...tokens.filter((each) => !before.has(tokenLine(each))),
      ].map(({ principal }) => principal),
    );
    const lasting = new Set(tokens.filter((each) => before.has(tokenLine(each))).map(({ principal }) => principal));
    this.#lives = this.#livesIn(tokens, lasting);
    if (differ.size > 0) this.#tokens = tokens;
    return {
      came: names.filter((name) => !lasting.has(name)),
      gone: old.filter((name) => !lasting.has(name)),
      changed: names.filter((name) => lasting.has(name) && differ.has(name)),
      count: this.callers.length,
      readers: this.readers.length,
    };
  }
}

/** One line of the list; another one is another token. */
export function tokenLine({ principal, sha256, only }: NamedToken): string {
  return `${principal} ${sha256}${only === undefined ? "" : ` ${only}`}`;
}

function mayCall({ only }: NamedToken): boolean {
  return only === undefined;
}

function namesIn(tokens: readonly NamedToken[]): readonly string[] {
  return [...new Set(tokens.map(({ principal }) => principal))];
}
