// The loop of every agent: the model asks for tools, their results go back to it, until it says something itself.
import { toModelText } from "@secure-local/mcp/client";

/** Rounds after which the model is taken to go round in circles. */
const MOST_ROUNDS = 10;

/**
 * Resolves with what the model says in the end. `model` gets the messages so far and the tools there are, and returns
 * `{ text }` or `{ calls: [{ id, name, arguments }] }`. `approve` is shown each call before it is made.
 */
export async function run(client, { task, model, approve = () => true }) {
  const tools = await client.tools().all();
  const messages = [{ role: "user", text: task }];
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const { text, calls = [] } = await model(messages, tools);
    if (calls.length === 0) return text;
    messages.push({ role: "assistant", calls });
    const results = await Promise.all(calls.map((call) => answer(client, call, approve)));
    messages.push({ role: "user", results });
  }
  throw new Error(`The model still asked for tools after ${MOST_ROUNDS} rounds`);
}

// What went wrong is told to the model: it may try otherwise.
async function answer(client, { id, name, arguments: args }, approve) {
  if (!approve(name, args)) return { id, text: "The user did not allow this call.", isError: true };
  const outcome = await client.call(name, args, { timeoutMs: 30_000 }).catch((error) => error);
  return { id, ...toModelText(outcome) };
}
