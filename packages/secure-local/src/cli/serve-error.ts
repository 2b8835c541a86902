// A fault that keeps `serve` from serving, told in one line.

export class ServeError extends Error {
  override readonly name = "ServeError";
}
