// Judges whole messages by the official schema of a revision, method by method.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as formats from "ajv-formats";
import { taskNotificationFaults, taskResultFaults } from "./task-shapes.js";
import { soaking } from "./soak.js";
import { type Definitions, definitionsOf, forbidStrangers, mend, type SpecSchema } from "./spec-patches.js";

const FOLDER = new URL("../../../../../shared/spec/", import.meta.url);

type Message = Record<string, unknown>;

/** What a response answers; without it only the general shape of the result is judged. */
export interface Answering {
  readonly requestMethod?: string | undefined;
  /** The same for several answers at once, by the id they carry. */
  readonly methodOf?: (id: unknown) => string | undefined;
}

export interface SpecValidator {
  /** False where the official schemas are not at hand: then everything is valid. Never false when `CI` is set. */
  readonly available: boolean;
  /** Faults of one message a server wrote, as sentences; empty when it is valid. */
  validateServerMessage(message: unknown, answering?: Answering): string[];
  validateClientMessage(message: unknown, answering?: Answering): string[];
}

const cache = new Map<string, SpecValidator>();
let announced = false;

/** The validator of a revision; compiled at first use and kept. */
export function specValidator(date: string): SpecValidator {
  let validator = cache.get(date);
  if (validator === undefined) {
    validator = load(date);
    cache.set(date, validator);
  }
  return validator;
}

function load(date: string): SpecValidator {
  if (existsSync(new URL(`${date}.json`, FOLDER))) return new SchemaValidator(date);
  if (process.env["CI"]) throw new Error(`The official schemas must be at ${FOLDER.href} when CI is set`);
  if (!announced) console.log("skipped: the official schemas (../shared/spec beside the repository) are not here");
  announced = true;
  return { available: false, validateServerMessage: () => [], validateClientMessage: () => [] };
}

const DATES = readableDates();

function readableDates(): string[] {
  return existsSync(FOLDER)
    ? readdirSync(FOLDER).flatMap((name) => /^(\d{4}-\d\d-\d\d)\.json$/.exec(name)?.[1] ?? [])
    : [];
}

function read(date: string): SpecSchema {
  return JSON.parse(readFileSync(new URL(`${date}.json`, FOLDER), "utf8")) as SpecSchema;
}

const untouched = new Map<string, Definitions>();

/** The definitions of a revision as they are in the file, read once. */
function knownTo(date: string): Definitions {
  const known = untouched.get(date) ?? definitionsOf(read(date));
  untouched.set(date, known);
  return known;
}

/** Most of a judge's cost is its compilation: what is run a few times is not made faster, and good files stay good. */
const AJV_OPTIONS = {
  strict: false,
  allErrors: true,
  validateSchema: soaking,
  inlineRefs: soaking,
  code: { optimize: soaking },
} as const;

type Side = "Server" | "Client";

/** Results by the method of the request they answer; each name is a definition of the schema. */
const RESULTS: { readonly [method: string]: string } = {
  initialize: "InitializeResult",
  ping: "EmptyResult",
  "server/discover": "DiscoverResult",
  "tools/list": "ListToolsResult",
  "tools/call": "CallToolResult",
  "resources/list": "ListResourcesResult",
  "resources/templates/list": "ListResourceTemplatesResult",
  "resources/read": "ReadResourceResult",
  "resources/subscribe": "EmptyResult",
  "resources/unsubscribe": "EmptyResult",
  "prompts/list": "ListPromptsResult",
  "prompts/get": "GetPromptResult",
  "completion/complete": "CompleteResult",
  "logging/setLevel": "EmptyResult",
  "subscriptions/listen": "SubscriptionsListenResult",
  "sampling/createMessage": "CreateMessageResult",
  "roots/list": "ListRootsResult",
  "elicitation/create": "ElicitResult",
  "tasks/get": "GetTaskResult",
  "tasks/result": "GetTaskPayloadResult",
  "tasks/list": "ListTasksResult",
  "tasks/cancel": "CancelTaskResult",
};

const MAY_ASK: ReadonlySet<string> = new Set(["tools/call", "prompts/get", "resources/read"]);
/** Members of results that exist only in the stateless era; the older schemas are open and would let them through. */
const STATELESS_MEMBERS = ["resultType", "ttlMs", "cacheScope", "inputRequests", "requestState"];
/** First words of the specification's own methods; a program's own methods begin with something else. */
const RESERVED = new Set(
  [...Object.keys(RESULTS), "notifications/cancelled", "tasks/get"].map((method) => method.split("/")[0]),
);

class SchemaValidator implements SpecValidator {
  readonly available = true;
  readonly #definitions: Definitions;
  readonly #at: string;
  readonly #stateless: boolean;
  readonly #ajv: Ajv;
  readonly #methods: { readonly [side in Side]: ReadonlyMap<string, string> };

  constructor(date: string) {
    const schema = read(date);
    this.#at = "$defs" in schema ? "$defs" : "definitions";
    this.#definitions = definitionsOf(schema);
    mend(this.#definitions);
    forbidStrangers(this.#definitions, DATES.filter((other) => other !== date).map(knownTo));
    this.#stateless = "DiscoverRequest" in this.#definitions;
    this.#ajv = "$defs" in schema ? new Ajv2020(AJV_OPTIONS) : new Ajv(AJV_OPTIONS);
    formats.default.default(this.#ajv);
    this.#ajv.addFormat("byte", isBase64);
    this.#ajv.addSchema(schema, "spec");
    this.#methods = { Server: this.#methodsOf("Server"), Client: this.#methodsOf("Client") };
  }

  validateServerMessage(message: unknown, answering: Answering = {}): string[] {
    return this.#validate(message, "Server", answering);
  }

  validateClientMessage(message: unknown, answering: Answering = {}): string[] {
    return this.#validate(message, "Client", answering);
  }

  #validate(message: unknown, side: Side, answering: Answering): string[] {
    if (Array.isArray(message)) return this.#validateBatch(message, side, answering);
    if (typeof message !== "object" || message === null) return ["the message is not an object"];
    const record = message as Message;
    if (record["jsonrpc"] !== "2.0") return ['jsonrpc is not "2.0"'];
    const strangers = Object.keys(record).filter((key) => !ENVELOPE.has(key));
    if (strangers.length > 0) return [`the message has members JSON-RPC does not know: ${strangers.join(", ")}`];
    if ("method" in record) return this.#validateCall(record, side);
    if ("result" in record === "error" in record) return ["a response has either a result or an error"];
    return "error" in record ? this.#validateError(record) : this.#validateResult(record, answering);
  }

  #validateBatch(messages: unknown[], side: Side, answering: Answering): string[] {
    // The first revision says nothing of batches, and JSON-RPC has them; forms came with the revision that removed them.
    if ("ElicitResult" in this.#definitions) return ["the revision has no batches"];
    if (messages.length === 0) return ["a batch is not empty"];
    return messages.flatMap((message, index) =>
      this.#validate(message, side, answering).map((fault) => `[${index}] ${fault}`),
    );
  }

  /** Requests and notifications: the definition whose `method` is theirs. */
  #validateCall(message: Message, side: Side): string[] {
    const method = String(message["method"]);
    const isRequest = "id" in message;
    if ("result" in message || "error" in message) return ["a request has neither a result nor an error"];
    if (isRequest && side === "Server" && this.#stateless)
      return [`a server of this revision sends no requests: ${method}`];
    if (this.#stateless && method === "notifications/tasks") {
      return taskNotificationFaults(message["params"] as Message, this.#judgeCall);
    }
    const name = this.#methods[side].get(method);
    if (name === undefined) {
      if (!isCustom(method)) return [`${method} is not what a ${side.toLowerCase()} of this revision sends`];
      return this.#check(isRequest ? "JSONRPCRequest" : "JSONRPCNotification", message);
    }
    if (name.endsWith("Request") !== isRequest)
      return [`${method} is ${isRequest ? "not a request" : "a request without an id"}`];
    const general = this.#check(isRequest ? "JSONRPCRequest" : "JSONRPCNotification", message);
    return general.length > 0
      ? general
      : this.#check(name, method === ACKNOWLEDGED ? withoutTaskIds(message) : message);
  }

  #validateError(message: Message): string[] {
    const name = ["JSONRPCErrorResponse", "JSONRPCError"].find((each) => each in this.#definitions) as string;
    // The older schemas want an id and know no null; JSON-RPC wants null where it could not be read.
    const idKnown = message["id"] !== null || name === "JSONRPCErrorResponse";
    const faults = this.#check(name, idKnown ? message : { ...message, id: 0 });
    return faults.length > 0 ? faults : this.#validateCode(message);
  }

  #validateCode(message: Message): string[] {
    const { code } = message["error"] as { code: number };
    const special = SPECIAL_ERRORS[code];
    if (special !== undefined) {
      return special in this.#definitions
        ? this.#check(special, message)
        : [`error code ${code} is not of this revision`];
    }
    const reserved = this.#stateless && code <= -32000 && code >= -32099;
    return reserved ? [`error code ${code} is reserved and has no meaning in this revision`] : [];
  }

  #validateResult(message: Message, answering: Answering): string[] {
    const requestMethod = answering.requestMethod ?? answering.methodOf?.(message["id"]);
    const name = "JSONRPCResultResponse" in this.#definitions ? "JSONRPCResultResponse" : "JSONRPCResponse";
    const faults = this.#check(name, message);
    if (faults.length > 0) return faults;
    const result = message["result"] as Message;
    if (!this.#stateless) {
      const leaked = STATELESS_MEMBERS.filter((member) => member in result);
      if (leaked.length > 0) return [`the result has members of a later revision: ${leaked.join(", ")}`];
    }
    return requestMethod === undefined ? [] : this.#validateAnswer(result, requestMethod);
  }

  #validateAnswer(result: Message, method: string): string[] {
    if (this.#stateless) {
      const faults = taskResultFaults(method, result, this.#judgeCall);
      if (faults !== undefined) return faults;
    }
    const name = RESULTS[method];
    if (name === undefined || !(name in this.#definitions)) {
      return isCustom(method) ? [] : [`${method} cannot be answered with a result in this revision`];
    }
    if (this.#stateless && result["resultType"] === "input_required") return this.#validateQuestions(result, method);
    if (this.#stateless && result["resultType"] !== "complete")
      return [`resultType is ${JSON.stringify(result["resultType"])}`];
    if (!this.#stateless && name === "EmptyResult" && Object.keys(result).some((key) => key !== "_meta")) {
      return [`the answer to ${method} is not empty: ${Object.keys(result).join(", ")}`];
    }
    const isTask = method === "tools/call" && "task" in result && "CreateTaskResult" in this.#definitions;
    return this.#check(isTask ? "CreateTaskResult" : name, result);
  }

  readonly #judgeCall = (result: Message): string[] => this.#validateAnswer(result, "tools/call");

  #validateQuestions(result: Message, method: string): string[] {
    if (!MAY_ASK.has(method)) return [`${method} may not answer input_required`];
    if (result["inputRequests"] === undefined && result["requestState"] === undefined) {
      return ["input_required needs inputRequests or requestState"];
    }
    const cached = ["ttlMs", "cacheScope"].filter((member) => member in result);
    if (cached.length > 0) return [`input_required must not carry ${cached.join(", ")}`];
    return this.#check("InputRequiredResult", result);
  }

  #check(name: string, value: unknown): string[] {
    const validate = this.#validatorOf(name);
    return validate(value) ? [] : readable(name, validate.errors ?? []);
  }

  #validatorOf(name: string): ValidateFunction {
    const validate = this.#ajv.getSchema(`spec#/${this.#at}/${name}`);
    if (validate === undefined) throw new Error(`The schema has no definition ${name}`);
    return validate;
  }

  /** Definition names by method, for what one side may send. */
  #methodsOf(side: Side): ReadonlyMap<string, string> {
    const names = [...this.#members(`${side}Request`), ...this.#members(`${side}Notification`)];
    const methods = names.map(
      (name) => [String(this.#definitions[name]?.properties?.["method"]?.const), name] as const,
    );
    return new Map(methods.filter(([method]) => method !== "undefined"));
  }

  #members(union: string): string[] {
    const definition = this.#definitions[union];
    if (definition === undefined) return [];
    // 2026-07-28 lets clients send one notification only, written out in place of a union.
    if (definition.anyOf === undefined) return ["CancelledNotification"];
    return definition.anyOf.map(({ $ref }) => String($ref).split("/").at(-1) as string);
  }
}

/** The filter of an acknowledgement may name tasks: a member of the extension, not of the revision. */
function withoutTaskIds(message: Message): Message {
  const params = message["params"] as Message;
  const { taskIds, ...notifications } = params["notifications"] as Message;
  return taskIds === undefined ? message : { ...message, params: { ...params, notifications } };
}

function isCustom(method: string): boolean {
  return !RESERVED.has(method.split("/")[0]);
}

const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";
const ENVELOPE: ReadonlySet<string> = new Set(["jsonrpc", "id", "method", "params", "result", "error"]);
const SPECIAL_ERRORS: { readonly [code: number]: string } = {
  [-32020]: "HeaderMismatchError",
  [-32021]: "MissingRequiredClientCapabilityError",
  [-32022]: "UnsupportedProtocolVersionError",
  [-32042]: "URLElicitationRequiredError",
};

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

/** The deepest faults first: they say what is wrong, those of the unions around them only that something is. */
function readable(name: string, errors: readonly ErrorObject[]): string[] {
  const sorted = [...errors].sort((a, b) => b.instancePath.length - a.instancePath.length);
  const lines = sorted.map(
    (error) => `${name}${error.instancePath} ${error.message ?? ""} ${JSON.stringify(error.params)}`,
  );
  return [...new Set(lines)].slice(0, 8);
}
