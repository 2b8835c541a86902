// Tells when a schema is another one than before: whatever else changes in the file of a database is nobody's business.

/** Reads what is compared; undefined where it cannot be read now. */
export type ReadSchema = (signal: AbortSignal) => Promise<string | undefined>;

export class SchemaWatch {
  readonly #read: ReadSchema;
  readonly #changed: () => void;
  readonly #over = new AbortController();
  #known: string | undefined;
  #looking = false;
  #again = false;

  constructor(read: ReadSchema, changed: () => void) {
    this.#read = read;
    this.#changed = changed;
    void this.#look(false);
  }

  /** Something has happened to the file. Of what happens while it is read the end counts. */
  touched(): void {
    void this.#look(true);
  }

  stop(): void {
    this.#over.abort();
  }

  async #look(tells: boolean): Promise<void> {
    if (this.#looking) {
      this.#again = true;
      return;
    }
    this.#looking = true;
    const { signal } = this.#over;
    const now = await this.#read(signal).catch(() => undefined);
    this.#looking = false;
    if (signal.aborted) return;
    // A file that cannot be read for a moment has not changed.
    const isOther = now !== undefined && now !== this.#known;
    if (isOther) {
      this.#known = now;
      if (tells) this.#changed();
    }
    if (!this.#again) return;
    this.#again = false;
    await this.#look(true);
  }
}
