// The whole product in memory: the server under a policy, a client of its own, and the records each call leaves.
import { refusal } from "../report/own-faults.mjs";

/** `policy` is the text of one; `tools` are further tools. Rates are out of the way unless the policy sets them. */
export async function session(parts, { policy, tools = [], own = [], revision, principal, ...peerOptions }) {
  const text = policy.includes("rate_limits") ? policy : withRates(policy);
  const parsed = await parts.parsePolicy(text, { file: "policy.yaml", environment: process.env });
  const audit = new parts.MemoryAudit();
  const secure = new parts.SecureServer({ policy: parsed, audit, version: "1.0.0", tools, own });
  const peer = await parts.connectInMemory(secure.server, { revision, principal, ...peerOptions });
  let seen = 0;
  const take = () => {
    const records = audit.lines.slice(seen).map((line) => JSON.parse(line));
    seen = audit.lines.length;
    return records;
  };
  const request = async (method, params) => {
    take();
    const answer = await peer.request(method, params).catch((error) => ({ error: refusal(error) }));
    return { answer, records: take() };
  };
  return {
    secure,
    audit,
    peer,
    request,
    call: (name, args) => request("tools/call", { name, arguments: args }),
    close: () => peer.close(),
  };
}

/**
 * `true` when a call was refused as it must be: the client was told, and exactly one record says that it was denied, by which
 * rule. Otherwise what is wrong.
 */
export function wasDenied({ answer, records }) {
  if (answer.error === undefined && answer.isError !== true) return `answered: ${JSON.stringify(answer).slice(0, 300)}`;
  const saying = records.filter(({ outcome }) => outcome === "denied");
  if (saying.length !== 1) return `${saying.length} records say so: ${JSON.stringify(records).slice(0, 400)}`;
  const rule = saying[0].decision?.rule ?? saying[0].detail?.rule;
  return typeof rule === "string" && rule !== "" ? true : `no rule on record: ${JSON.stringify(saying[0])}`;
}

/** `true` when a call was refused or failed, and nothing on record says that it went well. */
export function wasRefused({ answer, records }) {
  const told = answer.error !== undefined || answer.isError === true;
  const good = records.filter(({ kind, outcome }) => kind === "call.result" && outcome === "ok");
  return told && good.length === 0 ? true : `answered: ${JSON.stringify(answer).slice(0, 300)}`;
}

/** `true` when a call was served. */
export function wasServed({ answer }) {
  if (answer.error !== undefined) return `refused: ${answer.error.message}`;
  return answer.isError === true ? `refused: ${JSON.stringify(answer.content).slice(0, 300)}` : true;
}

function withRates(policy) {
  const rates = "  rate_limits: { default: 1000000 }";
  return /^tools:$/m.test(policy) ? policy.replace(/^tools:$/m, `tools:\n${rates}`) : `${policy}\ntools:\n${rates}\n`;
}
