// Lets bytes through as they are, and tells of each line in them.
import { StringDecoder } from "node:string_decoder";
import { Transform } from "node:stream";

/** More than this of one line is not kept in memory; the line is told of as far as it was kept. */
const MOST_KEPT = 16 * 1024 * 1024;

export function lineObserver(take: (line: string) => void): Transform {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  const observe = (text: string): void => {
    const lines = text.split("\n");
    lines[0] = `${rest}${lines[0]}`;
    rest = (lines.pop() as string).slice(0, MOST_KEPT);
    for (const line of lines) if (line.trim() !== "") take(line.replace(/\r$/, ""));
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      observe(decoder.write(chunk));
      done(undefined, chunk);
    },
    flush(done) {
      if (rest.trim() !== "") take(rest);
      done();
    },
  });
}
