// The folders a client shares: they narrow what the policy allows, and never widen it.
import { fileURLToPath } from "node:url";
import type { FileRules } from "./file-rules.js";
import { liesIn, plainPath } from "./plain-path.js";
import { outermost, realPrefix } from "./root-folders.js";

/** Roots looked at; clients name a handful. */
const MOST_ROOTS = 100;

export class ClientRoots {
  /** As the client wrote them, as paths. */
  readonly shown: readonly string[];
  readonly #real: readonly string[];

  private constructor(shown: readonly string[], real: readonly string[]) {
    this.shown = shown;
    this.#real = real;
  }

  /** URIs that name no local folder are left out. */
  static async of(uris: readonly string[]): Promise<ClientRoots> {
    const shown = outermost(uris.slice(0, MOST_ROOTS).flatMap((uri) => pathOfRoot(uri) ?? []));
    return new ClientRoots(shown, await Promise.all(shown.map(realPrefix)));
  }

  /** Whether a path lies in a root, by this name or where the root really is. */
  hold(path: string, rules: FileRules): boolean {
    const roots = [...this.shown, ...this.#real];
    return [path, rules.show(path)].some((name) => roots.some((root) => liesIn(name, root)));
  }

  /** Those of these folders, or of the roots in them, that are in both. */
  narrow(folders: readonly string[]): string[] {
    const both = folders.flatMap((folder) =>
      this.shown.flatMap((root) => (liesIn(folder, root) ? [folder] : liesIn(root, folder) ? [root] : [])),
    );
    return outermost(both);
  }
}

function pathOfRoot(uri: string): string | undefined {
  try {
    return plainPath(fileURLToPath(uri));
  } catch {
    return undefined;
  }
}
