// An upstream written by hand: it answers a call with the text it was called by, beside numbers that no parser should round.
import { createServer } from "node:http";

const [transport = "stdio", revision = "2025-06-18"] = process.argv.slice(2);

/** How each number is written: JavaScript would write none of them so. */
const NUMBERS =
  '{"big":12345678901234567890,"one":1.0,"huge":1e400,"none":-0,"money":0.10,"list":[1.0,{"deep":[18446744073709551615]}],"plain":7,"alone":"\\ud800","words":"1.0, 2.50"}';

const RESULTS = {
  initialize: `{"protocolVersion":"${revision}","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"digits","version":"1"}}`,
  "server/discover": `{"resultType":"complete","supportedVersions":["${revision}"],"capabilities":{"tools":{},"prompts":{},"resources":{}},"ttlMs":0,"cacheScope":"private"}`,
  "tools/list":
    '{"tools":[{"name":"tell","inputSchema":{"type":"object"}},{"name":"fail","inputSchema":{"type":"object"}},{"name":"ask","inputSchema":{"type":"object"}}]',
  "prompts/list": '{"prompts":[{"name":"say"}]',
  "resources/list": '{"resources":[{"uri":"digits://all","name":"all"}]',
  "resources/templates/list": '{"resourceTemplates":[]',
  "prompts/get": `{"messages":[{"role":"user","content":{"type":"text","text":"said","annotations":{"priority":1.0}}}],"_meta":{"example.com/n":${NUMBERS}}`,
  "resources/read": `{"contents":[{"uri":"digits://all","text":"read","_meta":{"example.com/n":${NUMBERS}}}]`,
};

/** What is cut short of its last brace ends as the era wants it. */
const END = revision === "2026-07-28" ? ',"resultType":"complete","ttlMs":0,"cacheScope":"private"}' : "}";

const QUESTION =
  '"method":"elicitation/create","params":{"mode":"form","message":"How many?","requestedSchema":{"type":"object","properties":{"n":{"type":"number","maximum":98765432109876543211.0}}}}';

/** The call that waits for the answer to its question. */
let asking;

function answer(text) {
  const { id, method, params } = JSON.parse(text);
  if (id === undefined) return undefined;
  const reply = (to, member) => `{"jsonrpc":"2.0","id":${JSON.stringify(to)},${member}}`;
  const say = (member) => reply(id, member);
  const told = (to) => reply(to, `"result":{"content":[{"type":"text","text":${JSON.stringify(text)}}]${END}`);
  if (method === undefined) return told(asking);
  if (method === "tools/call" && params.name === "ask") {
    asking = id;
    if (revision !== "2026-07-28") return `{"jsonrpc":"2.0","id":"q",${QUESTION}}`;
    if (params.inputResponses !== undefined) return told(id);
    return say(`"result":{"resultType":"input_required","inputRequests":{"q":{${QUESTION}}},"requestState":"s"}`);
  }
  if (method === "tools/call" && params.name === "fail")
    return say(`"error":{"code":50,"message":"failed","data":${NUMBERS}}`);
  const block = `{"type":"text","text":${JSON.stringify(text)},"annotations":{"priority":1.0}}`;
  const called = `{"content":[${block}],"structuredContent":${NUMBERS},"_meta":{"example.com/n":${NUMBERS}}`;
  const result = method === "tools/call" ? called : RESULTS[method];
  if (result === undefined) return say('"error":{"code":-32601,"message":"there is no such method"}');
  const whole = method === "initialize" || method === "server/discover";
  return say(`"result":${result}${whole ? "" : END}`);
}

if (transport === "stdio") {
  let rest = "";
  process.stdin.setEncoding("utf8").on("data", (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const text of lines.map(answer)) if (text !== undefined) process.stdout.write(`${text}\n`);
  });
} else {
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (chunk) => (text += chunk));
    request.on("end", () => {
      const said = request.method === "POST" ? answer(text) : undefined;
      if (said === undefined) return void response.writeHead(request.method === "POST" ? 202 : 405).end();
      const events = transport === "events";
      response.writeHead(200, { "content-type": events ? "text/event-stream" : "application/json" });
      response.end(events ? `data: ${said}\n\n` : said);
    });
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
  process.stdin.on("end", () => process.exit()).resume();
}
