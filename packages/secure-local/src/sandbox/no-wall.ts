// No wall at all, for `sandbox: none`: a clean environment is all that is left.
import { tmpdir } from "node:os";
import { BASE_ENVIRONMENT, type Feed, type Launch, type Wall, type WalledCommand, WallError } from "./wall.js";

const FIRST_FEED = 3;

export const noWall: Wall = {
  name: "none",
  launch({ executable, args, env, workingDirectory, handed = [], egress }: WalledCommand): Launch {
    if (egress !== undefined) throw new WallError("Without a sandbox nothing is kept to a network of its own.");
    const feeds: Feed[] = [];
    // Handed files become descriptors: a program opens `/dev/fd/3` as it would a file.
    const places = new Map(handed.map(({ path, bytes }) => [path, `/dev/fd/${FIRST_FEED + feeds.push(bytes) - 1}`]));
    const cwd = workingDirectory ?? tmpdir();
    return {
      file: executable,
      args: args.map((arg) => places.get(arg) ?? arg),
      env: { ...BASE_ENVIRONMENT, HOME: cwd, ...env },
      cwd,
      feeds,
    };
  },
};
