// Checks of prompts, completion and logging, of resources and subscriptions, and of lists in general.
import { Server } from "@secure-local/mcp/server";
import type { Message } from "../../remote/text-link.js";
import {
  type Check,
  type Examination,
  fail,
  note,
  OK,
  type Outcome,
  shown,
  skipped,
  specification,
  unchecked,
  unless,
  warn,
} from "../examination.js";
import {
  answerText,
  codeOf,
  HANDSHAKE,
  isMessage,
  knownRevision,
  type ListName,
  resultOf,
  type Session,
  STATELESS,
} from "../session.js";
import { served } from "./tools.js";

const INVALID_PARAMS = -32602;
const LISTS: readonly ListName[] = ["tools", "resources", "prompts"];
const METHODS: Readonly<Record<string, string>> = {
  tools: "tools/list",
  resources: "resources/list",
  prompts: "prompts/list",
};

export const PROMPT_CHECKS: readonly Check[] = [
  {
    id: "prompts-undeclared",
    title: "serves no prompts it does not declare",
    tier: "breaks the letter",
    page: specification("server/prompts#capabilities"),
    must: 39,
    needs: ["session"],
    advice: "Declare the capability prompts, or answer prompts/list with -32601.",
    async run({ session }) {
      if ("prompts" in session.capabilities) return OK;
      return resultOf(await session.ask("prompts/list")) === undefined
        ? OK
        : warn("prompts/list is served, but prompts is not declared");
    },
  },
  {
    id: "prompts-list",
    title: "lists the prompts it declares",
    tier: "breaks clients",
    page: specification("server/prompts#listing-prompts"),
    must: 39,
    needs: ["prompts"],
    advice: "Answer prompts/list with { prompts: [...] }.",
    run: ({ session }) => served(session, "prompts"),
  },
  {
    id: "prompt-names",
    title: "gives each prompt one name and a description",
    tier: "breaks clients",
    page: specification("server/prompts#prompt"),
    needs: ["prompts"],
    advice: "name is required and there once; the description is what a person chooses by.",
    async run({ session }) {
      const { items } = await session.list("prompts");
      const names = items.map(({ name }) => name);
      const bad = items.filter(({ name }, at) => typeof name !== "string" || name === "" || names.indexOf(name) !== at);
      if (bad.length > 0) return fail(`${bad.length} have no name of their own`);
      const bare = items.filter(({ description }) => typeof description !== "string" || description.trim() === "");
      return unless(
        bare.map(({ name }) => `${shown(name)} has no description`),
        "note",
      );
    },
  },
  {
    id: "prompt-unknown",
    title: "answers an unknown prompt with -32602",
    tier: "breaks the letter",
    page: specification("server/prompts#error-handling"),
    needs: ["prompts"],
    advice: "Answer with error -32602.",
    async run({ session }) {
      const answer = await session.ask("prompts/get", { name: "doctor_no_such_prompt" });
      if (codeOf(answer) === INVALID_PARAMS) return OK;
      return codeOf(answer) === undefined
        ? warn(`it was answered with ${answerText(answer)}`)
        : note(`it was answered with ${answerText(answer)}`);
    },
  },
  {
    id: "prompt-arguments",
    title: "refuses a prompt without the arguments it requires",
    tier: "note",
    page: specification("server/prompts#error-handling"),
    needs: ["prompts"],
    advice: "Answer with error -32602 that names the missing argument.",
    async run({ session }) {
      const { items } = await session.list("prompts");
      const needy = items.find(({ arguments: args }) => Array.isArray(args) && args.some(isRequired));
      if (needy === undefined) return skipped("no prompt requires an argument");
      const answer = await session.ask("prompts/get", { name: needy["name"] });
      if (codeOf(answer) === INVALID_PARAMS) return OK;
      return note(`${shown(needy["name"])} without its arguments was answered with ${answerText(answer)}`);
    },
  },
];

export const UTILITY_CHECKS: readonly Check[] = [
  {
    id: "logging",
    title: "lets clients set the log level when it declares logging",
    tier: "breaks the letter",
    page: specification("server/utilities/logging#setting-log-level"),
    must: 39,
    needs: ["handshake"],
    advice: "Implement logging/setLevel, or do not declare logging.",
    async run({ handshake }) {
      const session = handshake as Session;
      const answer = await session.ask("logging/setLevel", { level: "warning" });
      const works = resultOf(answer) !== undefined;
      if ("logging" in session.capabilities)
        return works ? OK : warn(`setLevel was answered with ${answerText(answer)}`);
      return works ? note("logging/setLevel is served, but logging is not declared") : OK;
    },
  },
  {
    id: "logging-level",
    title: "refuses a log level that does not exist",
    tier: "note",
    page: specification("server/utilities/logging#error-handling"),
    needs: ["handshake"],
    advice: "Answer with error -32602.",
    async run({ handshake }) {
      const session = handshake as Session;
      if (!("logging" in session.capabilities)) return skipped("logging is not declared");
      const answer = await session.ask("logging/setLevel", { level: "loud" });
      return codeOf(answer) === undefined ? note(`the level "loud" was answered with ${answerText(answer)}`) : OK;
    },
  },
  {
    id: "completions",
    title: "completes when it declares completions",
    tier: "breaks the letter",
    page: specification("server/utilities/completion#capabilities"),
    must: 39,
    needs: ["session"],
    advice: "Implement completion/complete, or do not declare completions.",
    async run({ session }) {
      const declared = "completions" in session.capabilities;
      if (!declared) return skipped("completions is not declared");
      const answer = await session.ask("completion/complete", await completionOf(session));
      return codeOf(answer) === -32601 || answer === undefined
        ? warn(`it was answered with ${answerText(answer)}`)
        : OK;
    },
  },
];

export const LIST_CHECKS: readonly Check[] = [
  {
    id: "list-stable",
    title: "lists the same in the same order when asked again",
    tier: "breaks the letter",
    page: specification("server/tools#listing-tools"),
    must: 53,
    needs: ["session"],
    advice: "Sort lists: clients and models cache them, and compare.",
    async run({ session }) {
      const moved: string[] = [];
      for (const name of LISTS.filter((each) => each in session.capabilities)) {
        const first = (await session.list(name)).pages[0];
        const again = resultOf(await session.ask(METHODS[name] as string));
        if (first !== undefined && JSON.stringify(first[name]) !== JSON.stringify(again?.[name])) moved.push(name);
      }
      return unless(
        moved.map((name) => `${name} changed between two looks`),
        "warn",
      );
    },
  },
  {
    id: "cursor-invalid",
    title: "refuses a cursor it never gave",
    tier: "note",
    page: specification("server/utilities/pagination#error-handling"),
    must: 50,
    needs: ["session"],
    advice: "Answer with error -32602.",
    async run({ session }) {
      const name = LISTS.find((each) => each in session.capabilities);
      if (name === undefined) return skipped("nothing is listed");
      const answer = await session.ask(METHODS[name] as string, { cursor: "doctor-made-this-up" });
      if (codeOf(answer) === INVALID_PARAMS) return OK;
      return note(`a made-up cursor was answered with ${answerText(answer)}`);
    },
  },
  {
    id: "cursor-end",
    title: "comes to an end of its lists",
    tier: "breaks clients",
    page: specification("server/utilities/pagination#pagination-flow"),
    must: 50,
    needs: ["session"],
    advice: "Leave nextCursor out on the last page; null is no cursor.",
    async run({ session }) {
      const faults: string[] = [];
      for (const name of LISTS.filter((each) => each in session.capabilities)) {
        const { pages, failed, more } = await session.list(name);
        if (more) return unchecked(`${name} has more than the ${pages.length} pages that are read`);
        const last = pages.at(-1);
        if (pages.length > 0 && failed !== undefined)
          faults.push(`a page of ${name} was answered with ${answerText(failed)}`);
        if (last !== undefined && last["nextCursor"] !== undefined) faults.push(cursorFault(name, last["nextCursor"]));
      }
      return unless(faults);
    },
  },
  {
    id: "cursor-restart",
    title: "takes its cursors after a restart",
    tier: "note",
    page: specification("server/utilities/pagination#implementation-guidelines"),
    needs: ["session"],
    advice: "Put the position into the cursor itself; what a process remembers dies with it.",
    run: cursorAfterRestart,
  },
];

async function cursorAfterRestart(exam: Examination): Promise<Outcome> {
  for (const name of LISTS.filter((each) => each in exam.session.capabilities)) {
    const [cursor] = (await exam.session.list(name)).cursors;
    if (cursor === undefined) continue;
    const fresh = exam.session.era === "handshake" ? await exam.fresh(exam.session.revision) : exam.session;
    const answer = await fresh?.ask(METHODS[name] as string, { cursor });
    return resultOf(answer) === undefined
      ? note(`a cursor of ${name} was answered with ${answerText(answer)} by a new session`)
      : OK;
  }
  return skipped("no list has more than one page");
}

function cursorFault(name: string, cursor: unknown): string {
  return typeof cursor === "string"
    ? `${name} does not end`
    : `the last page of ${name} has nextCursor ${shown(cursor)}`;
}

async function completionOf(session: Session): Promise<Message> {
  const prompt = (await session.list("prompts")).items.find(
    ({ arguments: args }) => Array.isArray(args) && args.length > 0,
  );
  const first = (prompt?.["arguments"] as readonly Message[] | undefined)?.[0];
  if (prompt !== undefined) {
    return { ref: { type: "ref/prompt", name: prompt["name"] }, argument: { name: first?.["name"], value: "" } };
  }
  const template = (await session.list("resourceTemplates")).items[0]?.["uriTemplate"] ?? "doctor://{x}";
  return { ref: { type: "ref/resource", uri: template }, argument: { name: "x", value: "" } };
}

function isRequired(argument: unknown): boolean {
  return isMessage(argument) && argument["required"] === true;
}

// Checks of resources, templates and subscriptions.

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
