// Checks of resources, templates and subscriptions.
import { Server } from "@secure-local/mcp/server";
import {
  type Check,
  fail,
  note,
  OK,
  type Outcome,
  shown,
  skipped,
  specification,
  unless,
  warn,
} from "../examination.js";
import type { Message } from "../../remote/text-link.js";
import { isMessage } from "../raw-conversation.js";
import { answerText, codeOf, HANDSHAKE, knownRevision, resultOf, type Session, STATELESS } from "../session.js";
import { served } from "./tools.js";

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const ABSENT = "doctor-absent://there/is/none";
const METHOD_NOT_FOUND = -32601;
const NOT_FOUND = -32002;

export const RESOURCE_CHECKS: readonly Check[] = [
  {
    id: "resources-undeclared",
    title: "serves no resources it does not declare",
    tier: "breaks the letter",
    page: specification("server/resources#capabilities"),
    must: 39,
    needs: ["session"],
    advice: "Declare the capability resources, or answer resources/list with -32601.",
    async run({ session }) {
      if ("resources" in session.capabilities) return OK;
      const answer = await session.ask("resources/list");
      return resultOf(answer) === undefined ? OK : warn("resources/list is served, but resources is not declared");
    },
  },
  {
    id: "resources-list",
    title: "lists the resources it declares",
    tier: "breaks clients",
    page: specification("server/resources#listing-resources"),
    must: 39,
    needs: ["resources"],
    advice: "Answer resources/list with { resources: [...] }.",
    run: ({ session }) => served(session, "resources"),
  },
  {
    id: "resource-uris",
    title: "gives each resource one absolute URI and a name",
    tier: "breaks clients",
    page: specification("server/resources#resource"),
    must: 51,
    needs: ["resources"],
    advice: "Use URIs with a scheme, each once; name is required.",
    async run({ session }) {
      const { items } = await session.list("resources");
      const uris = items.map(({ uri }) => uri);
      const unread = items.filter(({ uri, name }) => typeof uri !== "string" || typeof name !== "string");
      if (unread.length > 0) return unless(unread.map(({ uri }) => `${shown(uri)} has no uri or no name that is text`));
      return unless(
        items.flatMap(({ uri, name }, at) => {
          if (!URL.canParse(uri as string)) return [`${shown(uri)} is no absolute URI`];
          if (uris.indexOf(uri) !== at) return [`${shown(uri)} is there more than once`];
          return name === "" ? [`${shown(uri)} has no name`] : [];
        }),
        "warn",
      );
    },
  },
  {
    id: "resource-read",
    title: "reads a resource it lists",
    tier: "breaks clients",
    page: specification("server/resources#reading-resources"),
    must: 51,
    needs: ["resources"],
    advice: "Answer resources/read with contents: each has uri and either text or blob (base64).",
    run: ({ session }) => readFirst(session),
  },
  {
    id: "resource-unknown",
    title: "answers an unknown resource with an error",
    tier: "breaks the letter",
    page: specification("server/resources#error-handling"),
    must: 51,
    needs: ["resources"],
    advice: `Answer with -32002 up to ${HANDSHAKE} and -32602 from ${STATELESS} on, never with empty contents.`,
    run: ({ session }) => unknownResource(session, knownRevision(session.revision)?.resourceNotFound ?? NOT_FOUND),
  },
  {
    id: "resource-templates",
    title: "lists templates that can be expanded",
    tier: "breaks clients",
    page: specification("server/resources#resource-templates"),
    needs: ["resources"],
    advice: "Answer resources/templates/list, with [] if there are none; write templates by RFC 6570.",
    async run({ session }) {
      const { items, failed, silent } = await session.list("resourceTemplates");
      if (silent) return fail("resources/templates/list was never answered");
      if (codeOf(failed) === METHOD_NOT_FOUND) return note("resources/templates/list is not served");
      return failed === undefined
        ? unless(items.flatMap(templateFaults), "warn")
        : warn(`it was answered with ${answerText(failed)}`);
    },
  },
  {
    id: "resource-subscribe",
    title: "serves the subscriptions it declares",
    tier: "breaks the letter",
    page: specification("server/resources#subscriptions"),
    must: 39,
    needs: ["handshake", "resources"],
    advice: "Implement resources/subscribe and unsubscribe, or do not declare subscribe.",
    async run({ handshake }) {
      const session = handshake as Session;
      const declared = (session.capabilities["resources"] as Message)["subscribe"] === true;
      const uri = (await session.list("resources")).items[0]?.["uri"];
      if (typeof uri !== "string") return skipped("there is no resource to subscribe to");
      const answer = await session.ask("resources/subscribe", { uri });
      if (resultOf(answer) === undefined)
        return declared ? warn(`subscribe was answered with ${answerText(answer)}`) : OK;
      const undone = await session.ask("resources/unsubscribe", { uri });
      if (!declared) return note("subscriptions are served, but not declared");
      return resultOf(undone) === undefined ? warn(`unsubscribe was answered with ${answerText(undone)}`) : OK;
    },
  },
];

async function readFirst(session: Session): Promise<Outcome> {
  const { items } = await session.list("resources");
  const uri = items.find((each) => typeof each["uri"] === "string")?.["uri"];
  if (uri === undefined) return skipped("there is no resource to read");
  const answer = await session.ask("resources/read", { uri });
  const contents = resultOf(answer)?.["contents"];
  if (!Array.isArray(contents)) return note(`reading ${shown(uri)} was answered with ${answerText(answer)}`);
  if (contents.length === 0) return warn(`reading ${shown(uri)} gave empty contents`);
  return unless(contents.flatMap((each: unknown) => contentFaults(each).map((fault) => `${shown(uri)} ${fault}`)));
}

function contentFaults(content: unknown): string[] {
  if (!isMessage(content) || typeof content["uri"] !== "string") return ["gave contents without a uri"];
  const { text, blob } = content;
  if (typeof text === "string") return [];
  if (typeof blob !== "string") return ["gave contents with neither text nor blob"];
  return BASE64.test(blob) && blob.length % 4 === 0 ? [] : ["gave a blob that is not base64"];
}

async function unknownResource(session: Session, expected: number): Promise<Outcome> {
  const answer = await session.ask("resources/read", { uri: ABSENT });
  const code = codeOf(answer);
  if (code === expected) return OK;
  if (code === undefined) return warn(`reading ${ABSENT} was answered with ${answerText(answer)}`);
  return note(`reading ${ABSENT} was answered with error ${code}, not ${expected}`);
}

function templateFaults({ uriTemplate, name }: Message): string[] {
  if (typeof uriTemplate !== "string") return ["a template has no uriTemplate"];
  try {
    const probe = new Server({ name: "doctor", version: "1", report: () => undefined });
    probe.resourceTemplate(uriTemplate, { name: "probe", read: () => "" });
  } catch (error) {
    return [`${uriTemplate}: ${(error as Error).message.split("\n")[0]}`];
  }
  return typeof name === "string" && name !== "" ? [] : [`${uriTemplate} has no name`];
}
