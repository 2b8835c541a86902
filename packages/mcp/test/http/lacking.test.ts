// What is made for each request lives as long as the request: a function of its own would outlive it by many thousands.
import { expect, it } from "vitest";
import { httpEndpoint } from "../../src/http/server/http-endpoint.js";
import type { BodyReceiver, HttpExchange } from "../../src/http/server/exchange.js";
import { PARTS_AT_HAND } from "../../src/http/server/handshake-requests.js";
import { Server } from "../../src/server/server.js";

const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const HEADERS: Readonly<Record<string, string>> = { host: "localhost", "content-type": "application/json" };

/** A request as the endpoint sees it, whose body is there at once. */
function exchangeOf(replies: number[]): HttpExchange {
  return {
    method: "POST",
    path: "/mcp",
    query: "",
    principal: undefined,
    identity: undefined,
    extra: undefined,
    over: false,
    header: (name: string) => HEADERS[name],
    readBody(this: HttpExchange, _limit: number, receiver: BodyReceiver) {
      receiver.body(this, PING);
    },
    reply: (status: number) => void replies.push(status),
  } as unknown as HttpExchange;
}

it("gives all requests of an endpoint the same function to ask what they lack", async () => {
  const endpoint = httpEndpoint(
    new Server({ name: "s", version: "1" }),
    {},
    { hosts: undefined, origins: [], parts: PARTS_AT_HAND },
  );
  const replies: number[] = [];
  const [first, second] = [exchangeOf(replies), exchangeOf(replies)];
  endpoint.site.handle(first);
  endpoint.site.handle(second);
  expect(replies).toEqual([200, 200]);
  expect(first.lacking).toBeTypeOf("function");
  expect(first.lacking).toBe(second.lacking);
  await endpoint.close();
});
