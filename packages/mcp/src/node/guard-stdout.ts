// Keeps standard output for messages: what anybody else prints there goes to standard error instead.
import type { Writable } from "node:stream";

/** Redirects `process.stdout.write`, and with it `console`, to standard error. Returns the function that undoes it. */
export function guardStdout(): () => void {
  const { stdout, stderr } = process;
  const original = Object.getOwnPropertyDescriptor(stdout, "write");
  const redirected: typeof stdout.write = (...args: unknown[]) => Reflect.apply(stderr.write, stderr, args) as boolean;
  Object.defineProperty(stdout, "write", { value: redirected, configurable: true, writable: true });
  return () => {
    if (stdout.write !== redirected) return;
    if (original === undefined) delete (stdout as { write?: unknown }).write;
    else Object.defineProperty(stdout, "write", original);
  };
}

/** The `write` that a stream has by its kind: past the guard, and past whatever else was put over it. */
export function ownWrite(stream: Writable): Writable["write"] {
  return (Object.getPrototypeOf(stream) as Writable).write;
}
