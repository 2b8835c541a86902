// How many bytes of large request bodies are held at once, those being received and those being served.

/** Bodies up to here cost no more than the connection they come on, whose number is bounded. */
export const SMALL_BODY: number = 64 * 1024;

export class BodyRoom {
  #left: number;

  /** @param bytes all the room there is */
  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** Takes room, to be given back; false when there is not so much. */
  take(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  give(bytes: number): void {
    this.#left += bytes;
  }
}
