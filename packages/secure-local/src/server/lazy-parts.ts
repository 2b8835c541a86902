// The databases under the policy, loaded with the first statement: most sessions never ask one, and all want to start fast.
import type { Context } from "@secure-local/mcp/server";
import type { Databases } from "../capabilities/databases/databases.js";
import type { PolicyDatabases } from "../capabilities/databases/policy-databases.js";
import type { Policy } from "../policy/policy.js";
import type { AuditEvent, AuditSink } from "../audit/audit-event.js";
import type { PolicyFetch } from "../capabilities/fetch.js";
import { policyEgress } from "../capabilities/policy-egress.js";
import type { Reader } from "../capabilities/files/file-rules.js";
import type { FileSystem } from "../capabilities/files/file-system.js";
import type { Files } from "../capabilities/files/files.js";
import type { ReadLog } from "../capabilities/log-tail.js";
import type { Run, TellCommandRefusals } from "../capabilities/policy-run.js";

/** `policy` is asked at every operation; `own` are the program's own files, which no database is. */
export function lazyDatabases(policy: () => Policy, own: readonly string[]): Databases {
  let loading: Promise<PolicyDatabases> | undefined;
  const load = (): Promise<PolicyDatabases> => (loading ??= startDatabases(policy, own));
  return {
    list: () =>
      [...policy().databases.values()].map(({ name, store, readOnly }) => ({ name, kind: store.kind, readOnly })),
    query: async (options) => (await load()).query(options),
    schema: async (database, signal) => (await load()).schema(database, signal),
    watchSchema(database, table, changed) {
      let stop: (() => void) | undefined;
      let stopped = false;
      void load().then((databases) => {
        if (!stopped) stop = databases.watchSchema(database, table, changed);
      });
      return () => {
        stopped = true;
        stop?.();
      };
    },
    importTable: async (options) => (await load()).importTable(options),
  };
}

async function startDatabases(policy: () => Policy, own: readonly string[]): Promise<PolicyDatabases> {
  const module = await import("../capabilities/databases/policy-databases.js");
  return new module.PolicyDatabases(policy, { own });
}

// Puts off what a start does beside serving until the client has its first answer: a record and its sync take 3 ms.

/** Stands before the audit log: whatever is recorded, the start is recorded before it. */
export class DeferredStart implements AuditSink {
  readonly #audit: AuditSink;
  #start: (() => void) | undefined;

  constructor(audit: AuditSink) {
    this.#audit = audit;
  }

  /** Calls `start` once what has arrived already is answered, or right before the next record, whichever is sooner. */
  after(start: () => void): void {
    this.#start = start;
    // The first turn of the event loop reads what the client has sent and the end of it writes the answers.
    setImmediate(() => setImmediate(() => this.#begin()));
  }

  record(event: AuditEvent): Promise<void> {
    this.#begin();
    return this.#audit.record(event);
  }

  close(): Promise<void> {
    return this.#audit.close();
  }

  get failure(): Error | undefined {
    return this.#audit.failure;
  }

  #begin(): void {
    const start = this.#start;
    this.#start = undefined;
    start?.();
  }
}

// A tool's `fetch`, loaded with the first request: most sessions never make one, and all of them want to start fast.

/** `policy` is asked at every request and redirect. */
export function lazyFetch(policy: () => Policy): PolicyFetch {
  let loading: Promise<PolicyFetch> | undefined;
  return async (url, request) => {
    loading ??= load(policy);
    return (await loading)(url, request);
  };
}

async function load(policy: () => Policy): Promise<PolicyFetch> {
  const { createFetch } = await import("../capabilities/fetch.js");
  return createFetch(policyEgress(policy));
}

// The file system under the policy, loaded with the first request: most sessions never open a file, and all want to start fast.

interface LazyFileSystem {
  /** The files of one call, narrowed by its client's roots where it declares any; without a call, by the policy alone. */
  readonly files: (ctx?: Context, reader?: Reader) => Files;
  /** As `FileSystem.watch`. */
  watch(path: string, changed: () => void): () => void;
}

/** `policy` is asked at every operation; `own` are the program's own files, which nobody reaches. */
export function lazyFileSystem(policy: () => Policy, own: readonly string[]): LazyFileSystem {
  let loading: Promise<FileSystem> | undefined;
  const load = (): Promise<FileSystem> => (loading ??= startFileSystem(policy, own));
  return {
    files: (ctx, reader) => lazyFiles(load, clientRoots(ctx), reader),
    watch(path, changed) {
      let stop: (() => void) | undefined;
      let stopped = false;
      void load().then((system) => {
        if (!stopped) stop = system.watch(path, changed);
      });
      return () => {
        stopped = true;
        stop?.();
      };
    },
  };
}

/** The URIs of a client's roots; undefined when it has never heard of roots. */
function clientRoots(ctx: Context | undefined): (() => Promise<readonly string[]>) | undefined {
  if (ctx?.clientCapabilities.roots === undefined) return undefined;
  return async () => (await ctx.roots()).map(({ uri }) => uri);
}

function lazyFiles(
  load: () => Promise<FileSystem>,
  roots: (() => Promise<readonly string[]>) | undefined,
  reader: Reader,
): Files {
  let made: Promise<Files> | undefined;
  const files = (): Promise<Files> => (made ??= load().then((system) => system.files(roots, reader)));
  return {
    roots: async () => (await files()).roots(),
    judge: async (path, op) => (await files()).judge(path, op),
    info: async (path) => (await files()).info(path),
    read: async (path, options) => (await files()).read(path, options),
    open: async (path) => (await files()).open(path),
    write: async (path, bytes, options) => (await files()).write(path, bytes, options),
    edit: async (path, change, options) => (await files()).edit(path, change, options),
    remove: async (path) => (await files()).remove(path),
    list: async (path, options) => (await files()).list(path, options),
    async *walk(path, options) {
      yield* (await files()).walk(path, options);
    },
  };
}

async function startFileSystem(policy: () => Policy, own: readonly string[]): Promise<FileSystem> {
  const { FileSystem } = await import("../capabilities/files/file-system.js");
  return new FileSystem(policy, { own });
}

/** `policy` is asked at every read; `own` are the program's own files, which no log is. */
export function lazyLog(policy: () => Policy, own: readonly string[]): ReadLog {
  let loading: Promise<ReadLog> | undefined;
  return async (maxBytes) => {
    loading ??= import("../capabilities/log-tail.js").then(({ logTail }) => logTail(policy, own));
    return (await loading)(maxBytes);
  };
}

// `run`, loaded with the first command: most sessions never run one, and all of them want to start fast.

/** `policy` is asked at every run; `own` are the program's own files, which no command sees. */
export function lazyRun(policy: () => Policy, own: readonly string[], refused: TellCommandRefusals): Run {
  let loading: Promise<Run> | undefined;
  return async (name, args, options) => {
    loading ??= import("../capabilities/policy-run.js").then(({ createRun }) => createRun(policy, own, refused));
    return (await loading)(name, args, options);
  };
}
