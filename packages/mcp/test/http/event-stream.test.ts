// An open reply as a stream: whoever writes to it waits for a reader that is slow, and for none that is gone.
import { expect, it } from "vitest";
import { EventStream, StreamKeeper } from "../../src/http/server/event-stream.js";
import type { HttpExchange } from "../../src/http/server/exchange.js";
import { DEFAULT_HTTP_LIMITS } from "../../src/http/server/http-limits.js";

it("a reader that is gone gets nothing more, and nobody waits for it", async () => {
  const written: string[] = [];
  const reply = { buffered: 0, onDrain: undefined, write: (text: string) => (written.push(text), false) };
  const exchange = { open: () => reply, over: false, identity: undefined } as unknown as HttpExchange;
  const stream = new EventStream(exchange, new StreamKeeper(DEFAULT_HTTP_LIMITS));
  const waiting = stream.write("slow");
  expect(waiting).toBeInstanceOf(Promise);
  stream.gone();
  await waiting;
  expect(stream.write("late")).toBeUndefined();
  expect(written).toEqual(["slow"]);
});
