// The load process: does what the bench tells it over its IPC channel, so that its work is not in the server's account.
import { headerOf, HttpConnection, messageOf, readReply } from "../measure/raw-http.mjs";
import { Requests } from "../measure/mcp-requests.mjs";
import { LARGE_TEXT } from "../stdio/requests.mjs";

/** What each kind of call asks and what its answer must be. */
const CALLS = {
  small: (id) =>
    id % 2 === 0
      ? { name: "echo", given: { text: `Message ${id} of the bench` }, text: `Message ${id} of the bench` }
      : { name: "add", given: { a: id, b: 0.5 }, text: String(id + 0.5) },
  large: () => ({ name: "echo", given: { text: LARGE_TEXT }, text: LARGE_TEXT }),
};

const clients = [];
let target;

const JOBS = { open, calls, list, sessions };
process.on("message", async ({ job, options }) => {
  try {
    process.send({ value: await JOBS[job](options) });
  } catch (error) {
    process.send({ failed: error.message });
  }
});
process.on("disconnect", () => process.exit());

/** Connects `connections` clients, each with the session its mode has. */
async function open({ connections, ...given }) {
  target = given;
  for (let index = 0; index < connections; index += 1) {
    const connection = new HttpConnection(target.port);
    const requests = await handshake(connection);
    clients.push({ connection, requests });
  }
}

async function handshake(connection) {
  const { port, token, mode, accept } = target;
  const requests = new Requests({ port, token, accept, modern: mode === "modern" });
  if (mode === "modern") return requests;
  const reply = await connection.exchange(requests.initialize());
  const { result, error } = messageOf(reply);
  if (result === undefined) throw new Error(`initialize was refused: ${JSON.stringify(error)}`);
  const session = headerOf(reply, "mcp-session-id");
  if (mode !== "alone" && session === undefined) throw new Error("initialize was answered without a session");
  requests.joined(mode === "alone" ? undefined : session, result.protocolVersion);
  const { status } = await connection.exchange(requests.notification("notifications/initialized"));
  if (status !== 202) throw new Error(`initialized was answered with status ${status}`);
  return requests;
}

/** `count` calls spread over the clients, each with one at a time. Returns the nanoseconds they took. */
async function calls({ kind, first, count }) {
  const asked = CALLS[kind];
  const prepared = clients.map(() => []);
  for (let index = 0; index < count; index += 1) {
    const id = first + index;
    const { name, given } = asked(id);
    const turn = index % clients.length;
    prepared[turn].push({ id, text: clients[turn].requests.call(id, name, given) });
  }
  const replies = clients.map(() => []);
  const from = performance.now();
  await Promise.all(clients.map(({ connection }, turn) => inTurn(connection, prepared[turn], replies[turn])));
  const wall = (performance.now() - from) * 1e6;
  for (const [turn, sent] of prepared.entries()) {
    for (const [index, { id }] of sent.entries()) checkCall(replies[turn][index], id, asked(id).text);
  }
  return { wall };
}

/** Sends every request after the reply to the one before it. */
function inTurn(connection, prepared, replies) {
  return new Promise((resolve, reject) => {
    let next = 0;
    const step = () => {
      if (next === prepared.length) return resolve();
      connection.send(prepared[next++].text, take, reject);
    };
    const take = (bytes) => {
      replies.push(bytes);
      step();
    };
    step();
  });
}

function checkCall(bytes, id, text) {
  const reply = readReply(bytes);
  const type = headerOf(reply, "content-type") ?? "nothing";
  if (!type.startsWith(target.streams ? "text/event-stream" : "application/json")) {
    throw new Error(`an answer as ${type} which mode ${target.mode} does not measure`);
  }
  const { id: answered, result } = messageOf(reply);
  if (answered === id && result?.isError !== true && result?.content?.[0]?.text === text) return;
  throw new Error(`a wrong answer to call ${id}: ${bytes.toString("utf8").slice(-300)}`);
}

/** `count` whole lists by one client, every page of them. */
async function list({ count, tools }) {
  const [{ connection, requests }] = clients;
  let pages;
  const from = performance.now();
  for (let round = 0; round < count; round += 1) {
    pages = [];
    for (let cursor; pages.length === 0 || cursor !== undefined;) {
      const reply = await connection.exchange(requests.request(round, "tools/list", cursor && { cursor }));
      pages.push(reply);
      cursor = nextCursor(reply.body);
    }
  }
  const wall = (performance.now() - from) * 1e6;
  const names = new Set(pages.flatMap((page) => messageOf(page).result.tools.map(({ name }) => name)));
  if (names.size !== tools) throw new Error(`the list names ${names.size} of ${tools} tools`);
  return { wall, bytes: pages.reduce((total, { body }) => total + body.length, 0), pages: pages.length };
}

/** The cursor of a page, found without parsing the page. */
function nextCursor(body) {
  const at = body.lastIndexOf('"nextCursor":"');
  return at === -1 ? undefined : /^"nextCursor":"([^"]*)"/.exec(body.slice(at))?.[1];
}

/** Opens `count` sessions more over the connections there are, and uses each once. */
async function sessions({ count }) {
  for (let index = 0; index < count; index += 1) {
    const { connection } = clients[index % clients.length];
    const requests = await handshake(connection);
    const reply = await connection.exchange(requests.call(index, "echo", { text: "once" }));
    if (messageOf(reply).result?.content?.[0]?.text !== "once") throw new Error("a session's first call failed");
  }
}
