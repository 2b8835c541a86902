// No wall at all, for `sandbox: none`: a clean environment is all that is left.
import { tmpdir } from "node:os";
import { BASE_ENVIRONMENT, type Launch, type Wall, type WalledCommand, WallError } from "./wall.js";

export const noWall: Wall = {
  name: "none",
  launch({ executable, args, env, workingDirectory, handed = [], egress }: WalledCommand): Launch {
    if (egress !== undefined) throw new WallError("Without a sandbox nothing is kept to a network of its own.");
    // There is no place to hand files to. Programs are handed to Node alone, which takes their text in place of their path.
    const inPlace = (arg: string): string[] => {
      const bytes = handed.find(({ path }) => path === arg)?.bytes;
      return bytes instanceof Uint8Array ? ["--eval", new TextDecoder().decode(bytes), arg] : [arg];
    };
    const cwd = workingDirectory ?? tmpdir();
    return {
      file: executable,
      args: args.flatMap(inPlace),
      env: { ...BASE_ENVIRONMENT, HOME: cwd, ...env },
      cwd,
      feeds: [],
    };
  },
};
