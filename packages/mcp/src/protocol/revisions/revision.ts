// Describes one revision of the protocol as data.
import type { ContentBlock } from "../content.js";
import type { MethodRecord } from "../method.js";

/** Members that exist, in the order they are written. Anything else is left out toward a peer of the revision. */
export interface FieldTables {
  readonly tool: readonly string[];
  readonly toolAnnotations: readonly string[];
  readonly resource: readonly string[];
  readonly resourceTemplate: readonly string[];
  readonly resourceContents: readonly string[];
  readonly prompt: readonly string[];
  readonly promptArgument: readonly string[];
  readonly implementation: readonly string[];
  readonly annotations: readonly string[];
  readonly text: readonly string[];
  /** Images and audio. */
  readonly media: readonly string[];
  readonly embeddedResource: readonly string[];
  readonly progress: readonly string[];
  readonly root: readonly string[];
  readonly createMessage: readonly string[];
  readonly samplingMessage: readonly string[];
}

/** Which questions may be put to a person. */
export interface ElicitationRules {
  readonly form: boolean;
  readonly url: boolean;
  /** Several choices in one field. */
  readonly arrays: boolean;
  /** `oneOf` with titles; without it titles travel as `enumNames`. */
  readonly titledEnums: boolean;
  /** Defaults on every kind of field; without it on booleans only. */
  readonly allDefaults: boolean;
  /** The `mode` member exists. */
  readonly mode: boolean;
  /** A url question must carry an `elicitationId`. */
  readonly elicitationId: boolean;
}

/** What may be said to the client's model. */
export interface SamplingRules {
  readonly tools: boolean;
  /** A message may hold several blocks. */
  readonly contentArrays: boolean;
  readonly audio: boolean;
}

/** Behaviour that differs without a name of its own. */
export interface RevisionRules {
  readonly batches: boolean;
  /** HTTP streams open with an empty event that carries an id, and may be closed before the answer. */
  readonly polling: boolean;
  /** What stands for the id in the answer to a message whose id cannot be read. */
  readonly unreadableId: "null" | "absent";
  /** Over HTTP each request after the first says its revision in MCP-Protocol-Version. */
  readonly versionHeader: boolean;
  readonly resourceNotFound: number;
  /** -32042 exists. */
  readonly urlElicitationRequired: boolean;
  /** -32020, -32021 and -32022 exist. */
  readonly statelessErrors: boolean;
  readonly structuredContent: "none" | "object" | "any";
  readonly completionContext: boolean;
  /** Who makes a call a task: the client asks for it, or the server decides (for clients that know the extension). */
  readonly tasks: "none" | "requested" | "directed";
  /** Which labels of a `_meta` prefix the specification reserves its two words in. */
  readonly metaReservation: "inner" | "second";
}

/** One revision. A method, notification or member that it lacks is absent from its tables. */
export interface Revision {
  readonly date: string;
  readonly era: "handshake" | "stateless";
  /** Requests a client may send. */
  readonly methods: ReadonlyMap<string, MethodRecord>;
  readonly clientNotifications: ReadonlySet<string>;
  readonly serverNotifications: ReadonlySet<string>;
  /** What a server may ask; in the stateless era only inside `inputRequests`. */
  readonly serverRequests: ReadonlySet<string>;
  readonly fields: FieldTables;
  readonly content: ReadonlySet<ContentBlock["type"]>;
  readonly serverCapabilities: ReadonlySet<string>;
  readonly elicitation: ElicitationRules;
  readonly sampling: SamplingRules;
  readonly rules: RevisionRules;
}

/** Indexes method records by name. */
export function methodTable(...records: readonly MethodRecord[]): ReadonlyMap<string, MethodRecord> {
  return new Map(records.map((record) => [record.name, record]));
}
