// The handlers of the server role: one for each method of the protocol, whatever the revision.
import type { Answer, MaybePromise } from "../endpoint/answer.js";
import type { Call } from "../endpoint/call.js";
import type { Handler } from "../endpoint/middleware.js";
import { ErrorCode } from "../jsonrpc/error-codes.js";
import type { JsonObject } from "../jsonrpc/message.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import type { ServerCapabilities } from "../protocol/capabilities.js";
import { levelIndex } from "../protocol/features/logging.js";
import { REVISIONS } from "../protocol/revisions/all.js";
import { capabilitiesAlone, capabilitiesToward } from "./capabilities.js";
import { completeArgument } from "./completions.js";
import type { ServerCore } from "./core.js";
import { listen } from "./listen.js";
import type { ServerLists } from "./server-lists.js";
import { Session } from "./session.js";
import type { ServerTasks } from "./tasks/server-tasks.js";
import { peerWords } from "../jsonrpc/visible-text.js";

/** An empty answer: the codecs write it as each revision wants it. */
const DONE: JsonObject = Object.freeze({});

/** Builds the table. What it closes over is made once. */
export function serverHandlers(core: ServerCore, lists: ServerLists, tasks: ServerTasks): ReadonlyMap<string, Handler> {
  return new Map<string, Handler>([
    ["initialize", (call) => initialize(core, call)],
    ["ping", () => DONE],
    ["server/discover", (call) => discover(core, call)],
    ["tools/list", (call) => lists.tools.page(call)],
    ["tools/call", (call) => core.toolCaller.call(call)],
    ["resources/list", (call) => lists.resources.page(call)],
    ["resources/templates/list", (call) => lists.templates.page(call)],
    ["resources/read", (call) => core.reader.read(call)],
    ["resources/subscribe", (call) => subscribe(core, call)],
    ["resources/unsubscribe", (call) => unsubscribe(core, call)],
    ["prompts/list", (call) => lists.prompts.page(call)],
    ["prompts/get", (call) => core.promptFiller.get(call)],
    ["completion/complete", (call): MaybePromise<Answer> => completeArgument(core, call)],
    ["logging/setLevel", setLevel],
    ["subscriptions/listen", (call) => listen(core, tasks, call)],
    ...tasks.handlers(),
  ]);
}

function initialize(core: ServerCore, call: Call): Answer {
  const { instructions, identity } = core;
  return {
    protocolVersion: call.caller.codec.revision.date,
    capabilities: capabilitiesToward(call.carrier.principal, lasting(call, core.capabilities())),
    serverInfo: identity,
    ...(instructions === undefined ? {} : { instructions }),
  };
}

function discover(core: ServerCore, { carrier }: Call): Answer {
  const { instructions } = core;
  const all = core.capabilities();
  return {
    supportedVersions: REVISIONS.map((revision) => revision.date),
    capabilities: carrier.answersOnly === true ? capabilitiesAlone(all) : all,
    ...(instructions === undefined ? {} : { instructions }),
    ttlMs: core.listTtlMs,
    // What one who reads no streams is told is not everybody's.
    cacheScope: carrier.answersOnly === true ? "private" : "public",
  };
}

function subscribe(core: ServerCore, call: Call): Answer {
  const { subscription } = sessionOf(call);
  const uri = call.params["uri"] as string;
  core.reader.require(uri);
  if (subscription === undefined) return DONE;
  const limit = core.limits.subscribedUris;
  if (subscription.uris.size >= limit && !subscription.uris.has(uri)) {
    throw new RpcError(ErrorCode.InternalError, `This session is subscribed to ${limit} resources already`, { limit });
  }
  core.subscribers.subscribe(subscription, uri);
  return DONE;
}

function unsubscribe(core: ServerCore, call: Call): Answer {
  const { subscription } = sessionOf(call);
  if (subscription !== undefined) core.subscribers.unsubscribe(subscription, call.params["uri"] as string);
  return DONE;
}

function setLevel(call: Call): Answer {
  sessionOf(call).logLevel = levelIndex(call.params["level"]);
  return DONE;
}

/** What lasts beyond its request needs a session: where messages are served one by one, it does not exist. */
function sessionOf({ caller, method }: Call): Session {
  if (caller instanceof Session) return caller;
  throw new RpcError(ErrorCode.MethodNotFound, `Method not found: ${peerWords(method)}`);
}

function lasting({ caller }: Call, all: ServerCapabilities): ServerCapabilities {
  return caller instanceof Session ? all : capabilitiesAlone(all);
}
