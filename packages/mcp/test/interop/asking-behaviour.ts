// What every client can be asked: forms, pages, its model and its folders, in one round or several.
import { expect, it } from "vitest";
import { type OfficialClient, type Params, refusing } from "./official-client.js";

const ENTRY = "Failed to connect to database after 3 retries. Last error: ECONNREFUSED 10.0.1.5:5432";
const FORM = "2025-06-18";
const PAGE = "2025-11-25";

export function askingBehaviour(client: () => OfficialClient, has: (since: string) => boolean): void {
  const person = (elicit: (params: Params) => Params): void => {
    client().answers = { ...refusing(), elicit };
  };
  /** Older revisions have no such question: the tool says what it lacks. */
  const refused = async (tool: string, what: string, args?: Params): Promise<void> => {
    const { isError, content } = await client().call(tool, args);
    expect({ isError, content }).toMatchObject({ isError: true, content: [{ text: expect.stringContaining(what) }] });
  };

  it("fills in a form of every kind of field, with its defaults", async () => {
    if (!has(FORM)) return refused("book_table", "elicitation.form");
    let fields: Record<string, { title?: string }> = {};
    person(({ requestedSchema }) => {
      fields = (requestedSchema as { properties: typeof fields }).properties;
      return { action: "accept", content: { guest: "Grace", tip: 1.5, course: "f", ...nuts(fields) } };
    });
    const { structuredContent } = await client().call("book_table");
    expect(Object.keys(fields)).toHaveLength(has(PAGE) ? 10 : 12);
    expect(fields["guests"]).toMatchObject({ type: "integer", minimum: 1, maximum: 12 });
    expect(structuredContent).toEqual({
      booked: {
        guest: "Grace",
        guests: 2,
        tip: 1.5,
        smoking: false,
        room: "garden",
        course: "f",
        extras: ["bread"],
        allergies: ["n"],
      },
    });
  });

  it("hears that the person declined or cancelled", async () => {
    if (!has(FORM)) return refused("ask_twice", "elicitation.form");
    for (const action of ["decline", "cancel"]) {
      person(() => ({ action }));
      expect(await client().call("book_table")).toMatchObject({
        isError: true,
        content: [{ text: `No table was booked: ${action}` }],
      });
    }
  });

  it("does not take an answer that does not fit the form", async () => {
    if (!has(FORM)) return undefined;
    person(() => ({ action: "accept", content: { guests: 99 } }));
    // The second generation of the SDK checks before it sends, and fails the call itself.
    const outcome = await client()
      .call("book_table")
      .catch((error: unknown) => ({ isError: true, content: String(error) }));
    expect(outcome.isError).toBe(true);
    expect(JSON.stringify(outcome.content)).toMatch(/guests/);
  });

  it("sends the person to a page", async () => {
    if (!has(PAGE)) return refused("open_page", "elicitation.url");
    person(({ url, mode }) => ({
      action: url === "https://example.com/sign-in" && mode === "url" ? "accept" : "cancel",
    }));
    const { content } = await client().call("open_page");
    expect(content).toEqual([{ type: "text", text: "The page was answered with accept" }]);
  });

  it("asks in several rounds, two questions in the first", async () => {
    if (!has(FORM)) return undefined;
    const asked: string[] = [];
    const calls = client().tap.sent("tools/call");
    person(({ message }) => {
      asked.push(String(message));
      if (message === "Sure?") return { action: "accept", content: { sure: true } };
      return { action: "accept", content: { name: message === "First name?" ? "Ada" : "Lovelace" } };
    });
    const { content } = await client().call("ask_twice");
    expect(content).toEqual([{ type: "text", text: "Ada Lovelace: true" }]);
    expect(asked.sort()).toEqual(["First name?", "Last name?", "Sure?"]);
    expect(client().tap.sent("tools/call") - calls).toBe(has("2026-07-28") ? 3 : 1);
  });

  it("asks by hand, as the tools page prints it", async () => {
    if (!has(FORM)) return refused("get_weather", "elicitation.form", { location: "home" });
    person(({ message }) => ({
      action: message === "Please provide your GitHub username" ? "accept" : "cancel",
      content: { name: "octocat" },
    }));
    const { content } = await client().call("get_weather", { location: "home" });
    expect(content).toMatchObject([{ text: expect.stringContaining("at the home of octocat") }]);
  });

  it("asks the client's model, in every revision", async () => {
    let asked: Params = {};
    client().answers = {
      ...refusing(),
      sample(params) {
        asked = params;
        const content = { type: "text", text: "ERROR" };
        return { role: "assistant", content, model: "claude-3-5-haiku-20241022", stopReason: "endTurn" };
      },
    };
    const { content } = await client().call("classify_log", { entry: ENTRY });
    const level = { level: "ERROR", model: "claude-3-5-haiku-20241022", stopReason: "endTurn" };
    expect(content).toEqual([{ type: "text", text: JSON.stringify(level) }]);
    const text = `Classify this log entry as INFO, WARNING, ERROR, or CRITICAL:\n\n${ENTRY}`;
    expect(asked).toMatchObject({
      messages: [{ role: "user", content: { type: "text", text } }],
      maxTokens: 50,
      modelPreferences: { hints: [{ name: "claude-3-5-haiku" }], speedPriority: 0.8, costPriority: 0.9 },
    });
  });

  it("asks for the client's folders, and again once they changed", async () => {
    let folder = "file:///home/ada";
    client().answers = { ...refusing(), roots: () => ({ roots: [{ uri: folder, name: "work" }] }) };
    const shown = async (): Promise<string> => JSON.stringify((await client().call("show_roots")).content);
    expect(await shown()).toContain("file:///home/ada");
    folder = "file:///home/grace";
    if (!has("2026-07-28")) await client().rootsChanged();
    expect(await shown()).toContain("file:///home/grace");
  });
}

/** The choice of nuts: one of a list, or the switch that stands for it where forms have no lists. */
function nuts(fields: Readonly<Record<string, { title?: string }>>): Params {
  const [name] = Object.entries(fields).find(([, { title }]) => title === "allergies: Nuts") ?? [];
  return name === undefined ? { allergies: ["n"] } : { [name]: true };
}
