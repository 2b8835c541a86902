// Cuts chunks into lines without copying a long line more than once.

export class LineSplitter {
  #parts = [];

  /** Calls `onLine(text)` for every line that `chunk` completes. */
  push(chunk, onLine) {
    let from = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      this.#parts.push(chunk.subarray(from, at));
      const line = Buffer.concat(this.#parts).toString("utf8");
      this.#parts = [];
      from = at + 1;
      onLine(line);
    }
    if (from < chunk.length) this.#parts.push(chunk.subarray(from));
  }
}
