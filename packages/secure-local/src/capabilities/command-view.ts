// Finds out what of the disk one command sees, the paths among its arguments and its working folder, and what it is told they are.
import type { CommandPath } from "../policy/decide-command.js";
import type { Reach } from "../sandbox/wall.js";
import { FileError } from "./files/file-error.js";
import { SandboxView, type ViewOptions } from "./sandbox-reach.js";

export interface CommandFiles {
  readonly args: readonly string[];
  readonly paths: readonly CommandPath[];
  readonly workingDirectory: string | undefined;
}

/** Close it when the command has ended. */
export interface CommandView {
  readonly reach: readonly Reach[];
  /** Each path in them is the one that was found and judged, free of links, never the caller's text. */
  readonly args: readonly string[];
  readonly workingDirectory: string | undefined;
  close(): void;
}

/**
 * The working folder may be written where the policy allows that. A file to write that does not exist yet needs its folder, so that is
 * seen and writable then, but for what in it is denied. @throws FileError for a path that may not be reached
 */
export async function commandView(where: ViewOptions, files: CommandFiles): Promise<CommandView> {
  const reach: Reach[] = [];
  const close = (): void => {
    for (const { held } of reach) held?.close();
  };
  const seen = (path: string, found: readonly [Reach, ...Reach[]] | undefined): string => {
    if (found === undefined) throw new FileError("not-found", `"${path}" does not exist.`);
    reach.push(...found);
    return found[0].path;
  };
  try {
    const view = await SandboxView.of(where);
    const { paths, workingDirectory: folder } = files;
    const args = [...files.args];
    const pathOf = async (path: string, access: CommandPath["access"]): Promise<string> => {
      const found = await view.reach({ path, access });
      if (found !== undefined || access === "read") return seen(path, found);
      const place = await view.placeFor(path);
      reach.push(place.folder);
      return place.path;
    };
    const workingDirectory =
      folder === undefined ? undefined : seen(folder, await view.reach({ path: folder, access: "most" }));
    for (const { path, access, argument, before } of paths) args[argument] = before + (await pathOf(path, access));
    return { reach, args, workingDirectory, close };
  } catch (error) {
    close();
    throw error;
  }
}
