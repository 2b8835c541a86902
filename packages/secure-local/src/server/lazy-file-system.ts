// The file system under the policy, loaded with the first request: most sessions never open a file, and all want to start fast.
import type { Context } from "@secure-local/mcp/server";
import type { Reader } from "../capabilities/files/file-rules.js";
import type { FileSystem } from "../capabilities/files/file-system.js";
import type { Files } from "../capabilities/files/files.js";
import type { Policy } from "../policy/policy.js";

export interface LazyFileSystem {
  /** The files of one call, narrowed by its client's roots where it declares any; without a call, by the policy alone. */
  readonly files: (ctx?: Context, reader?: Reader) => Files;
  /** As `FileSystem.watch`. */
  watch(path: string, changed: () => void): () => void;
}

/** `policy` is asked at every operation; `own` are the program's own files, which nobody reaches. */
export function lazyFileSystem(policy: () => Policy, own: readonly string[]): LazyFileSystem {
  let loading: Promise<FileSystem> | undefined;
  const load = (): Promise<FileSystem> => (loading ??= start(policy, own));
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

async function start(policy: () => Policy, own: readonly string[]): Promise<FileSystem> {
  const { FileSystem } = await import("../capabilities/files/file-system.js");
  return new FileSystem(policy, { own });
}
