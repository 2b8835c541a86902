// Checks of prompts, completion and logging, and of lists in general.
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
import type { Message } from "../../remote/text-link.js";
import { isMessage } from "../raw-conversation.js";
import { answerText, codeOf, type ListName, resultOf, type Session } from "../session.js";
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
