// A process that no other can connect to: each says so once, and once that it can again.
import { once } from "node:events";
import { connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { shareOver } from "../../src/cluster/member.js";
import { memoryStores, type SharedStores } from "../../src/cluster/stores.js";
import { serveHttp } from "../../src/serve/http.js";
import type { Reporter } from "../../src/server/reporter.js";
import { call, session, testServer } from "../http/http-fixture.js";
import { KEY } from "./cluster-fixture.js";
import { until } from "./redis-fixture.js";

const NO_STREAMS = { accept: "application/json" };
const NOWHERE = "tcp://127.0.0.1:1";

it("is said to be reached through the store by each that wants to, once; and once that it is without", async () => {
  const stores = memoryStores();
  const said: [string, string, unknown][] = [];
  let address: string | undefined = NOWHERE;
  const start = async (node: string, report: Reporter) => {
    const beat = (of: string, at: string) => stores.beat(of, of === "far" ? (address ?? at) : at);
    const { name, sessions, tasks, limits, marks, locks, records, streams, bus, mail } = stores;
    const own: SharedStores = {
      ...{ name, sessions, tasks, limits, marks, locks, records, streams, bus, mail, beat },
      open: (...given) => stores.open(...given),
      leave: (given) => stores.leave(given),
      close: () => stores.close(),
    };
    const share = shareOver(own, { key: KEY, node });
    const serving = await serveHttp(testServer({ report }), { share, signals: false, limits: { drainMs: 10 } });
    onTestFinished(() => serving.close());
    return serving;
  };
  const far = await start("far", () => undefined);
  const near = await start("near", (level, message, details) => {
    if (details?.["byLetters"] !== undefined) said.push([level, message, details["byLetters"]]);
  });
  const { headers } = await session(far.url);
  const ask = (id: number): Promise<Response> =>
    fetch(near.url, {
      method: "POST",
      headers: { ...headers, ...NO_STREAMS, "content-type": "application/json" },
      body: JSON.stringify(call("echo", { text: "hello" }, id)),
    });
  for (let id = 1; id < 4; id++) expect((await ask(id)).status).toBe(200);
  const apart = [
    "warning",
    `The process far cannot be reached at ${NOWHERE}: what goes there goes through memory, which is slower; check the address there`,
    1,
  ];
  expect(said).toEqual([apart]);
  address = undefined;
  let id = 10;
  await until(async () => {
    await ask(id++);
    return said.length > 1;
  });
  for (let n = 0; n < 3; n++) await ask(id++);
  expect(said).toEqual([apart, ["warning", "The process far is reached again without memory", 0]]);
});

it("says of a connection that ends before its greeting why it was refused, in one line and without a stack", async () => {
  const stores = memoryStores();
  const said: [string, unknown][] = [];
  const share = shareOver(stores, { key: KEY, node: "one" });
  const report: Reporter = (_, message, details) => void said.push([message, details]);
  const serving = await serveHttp(testServer({ report }), { share, signals: false, limits: { drainMs: 10 } });
  onTestFinished(() => serving.close());
  const at = (await stores.beat("looks", NOWHERE)).nodes.get("one") ?? "";
  const socket = connect(Number(new URL(at).port), "127.0.0.1");
  await once(socket, "connect");
  socket.end();
  await until(() => said.length > 0);
  expect(said).toEqual([
    ["A connection to the relay from 127.0.0.1 was refused: The other process closed the connection", undefined],
  ]);
});
