// Checks of resources, templates and subscriptions.
import { Server } from "@secure-local/mcp/server";
import { type Check, fail, OK, type Outcome, shown, skipped, unless, warn } from "../exam.js";
import { isMessage, type Message } from "../raw-conversation.js";
import { answerText, codeOf, resultOf, type Session } from "../session.js";
import { served } from "./tools.js";

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const ABSENT = "doctor-absent://there/is/none";
const METHOD_NOT_FOUND = -32601;

export const RESOURCE_CHECKS: readonly Check[] = [
  {
    id: "resources-undeclared",
    title: "serves no resources it does not declare",
    must: 39,
    needs: ["session"],
    advice: "Declare the capability resources, or answer resources/list with -32601.",
    async run({ session }) {
      if ("resources" in session.capabilities) return OK;
      const answer = await session.ask("resources/list");
      return resultOf(answer) === undefined ? OK : fail("resources/list is served, but resources is not declared");
    },
  },
  {
    id: "resources-list",
    title: "lists the resources it declares",
    must: 39,
    needs: ["resources"],
    advice: "Answer resources/list with { resources: [...] }.",
    run: ({ session }) => served(session, "resources"),
  },
  {
    id: "resource-uris",
    title: "gives each resource one absolute URI and a name",
    must: 51,
    needs: ["resources"],
    advice: "Use URIs with a scheme, each once; name is required.",
    async run({ session }) {
      const { items } = await session.list("resources");
      const uris = items.map(({ uri }) => uri);
      return unless(
        items.flatMap(({ uri, name }, at) => {
          if (typeof uri !== "string" || !URL.canParse(uri)) return [`${shown(uri)} is no absolute URI`];
          if (uris.indexOf(uri) !== at) return [`${uri} is there more than once`];
          return typeof name === "string" && name !== "" ? [] : [`${uri} has no name`];
        }),
      );
    },
  },
  {
    id: "resource-read",
    title: "reads a resource it lists",
    must: 51,
    needs: ["resources"],
    advice: "Answer resources/read with contents: each has uri and either text or blob (base64).",
    run: ({ session }) => readFirst(session),
  },
  {
    id: "resource-unknown",
    title: "answers an unknown resource with an error",
    must: 51,
    needs: ["resources"],
    advice: "Answer with -32002 up to 2025-11-25 and -32602 from 2026-07-28 on, never with empty contents.",
    run: ({ session }) => unknownResource(session, session.era === "stateless" ? -32602 : -32002),
  },
  {
    id: "resource-templates",
    title: "lists templates that can be expanded",
    needs: ["resources"],
    advice: "Answer resources/templates/list, with [] if there are none; write templates by RFC 6570.",
    async run({ session }) {
      const { items, failed, silent } = await session.list("resourceTemplates");
      if (silent) return fail("resources/templates/list was never answered");
      if (codeOf(failed) === METHOD_NOT_FOUND) return warn("resources/templates/list is not served");
      return failed === undefined
        ? unless(items.flatMap(templateFaults))
        : fail(`it was answered with ${answerText(failed)}`);
    },
  },
  {
    id: "resource-subscribe",
    title: "serves the subscriptions it declares",
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
        return declared ? fail(`subscribe was answered with ${answerText(answer)}`) : OK;
      const undone = await session.ask("resources/unsubscribe", { uri });
      if (!declared) return warn("subscriptions are served, but not declared");
      return resultOf(undone) === undefined ? fail(`unsubscribe was answered with ${answerText(undone)}`) : OK;
    },
  },
];

async function readFirst(session: Session): Promise<Outcome> {
  const { items } = await session.list("resources");
  const uri = items.find((each) => typeof each["uri"] === "string")?.["uri"];
  if (uri === undefined) return skipped("there is no resource to read");
  const answer = await session.ask("resources/read", { uri });
  const contents = resultOf(answer)?.["contents"];
  if (!Array.isArray(contents)) return warn(`reading ${shown(uri)} was answered with ${answerText(answer)}`);
  if (contents.length === 0) return fail(`reading ${shown(uri)} gave empty contents`);
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
  if (code === undefined) return fail(`reading ${ABSENT} was answered with ${answerText(answer)}`);
  return warn(`reading ${ABSENT} was answered with error ${code}, not ${expected}`);
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
