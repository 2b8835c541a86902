// A plugin that asks its host for what it is told to, for the call it is told to, and tells what it was answered.

/** The script; `MARK` stands for a folder: with a file `early` in it, it asks before any call. */
const ASKER = `
import json, sys, os, time
lines = sys.stdin
def say(what): print(json.dumps(what), flush=True)
if os.path.exists(MARK + "/early"):
    say({"ask": "early", "run": {"command": "note", "args": []}})
    say({"ask": "early2", "fetch": {"url": "http://127.0.0.1:9/"}})
    say({"ask": "early3", "storage": {"keys": True}})
waiting = {}
answers = []
ended = []
for line in lines:
    told = json.loads(line)
    if "answered" in told:
        answers.append(told)
        call = waiting.pop(told["answered"], None)
        if call: say({"id": call, "content": json.dumps(told.get("value", told.get("error")))})
    elif told.get("tool") == "told":
        say({"id": told["id"], "content": json.dumps(answers)})
    elif told.get("tool") == "leave":
        ended.append(told["id"])
        say({"id": told["id"], "content": "gone"})
        say({"ask": "late", "for": told["id"], "run": {"command": "note", "args": []}})
    elif told.get("tool") == "begin":
        say({"ask": "begun", "for": told["id"], **told["arguments"]["ask"]})
        time.sleep(0.3)
        say({"id": told["id"], "content": "begun"})
    elif "tool" in told or "prompt" in told or "resource" in told:
        asked = told.get("arguments") or {}
        named = asked.get("for", told["id"])
        if named == "ended": named = ended[-1] if ended else 0
        if named == "none": named = None
        key = "a%d" % told["id"]
        waiting[key] = told["id"]
        ask = {"ask": key, **(asked.get("ask") or {"run": {"command": "note", "args": []}})}
        if named is not None: ask["for"] = named
        say(ask)
`;

/** Its files. Tools `ask` and `wait` (arguments `ask` and `for`), `told` (all it was answered), `leave` (asks once it has
 * answered), `begin` (answers while what it asked for is under way). */
export function askingPlugin(name: string, mark: string): Readonly<Record<string, string>> {
  const manifest = {
    name,
    version: "1",
    run: ["python3", "main.py"],
    persistent: true,
    tools: [{ name: "ask" }, { name: "wait" }, { name: "told" }, { name: "leave" }, { name: "begin" }],
    prompts: [{ name: "ask" }],
    resources: [{ uri: `${name}://ask` }],
  };
  return { "manifest.yaml": JSON.stringify(manifest), "main.py": ASKER.replaceAll("MARK", JSON.stringify(mark)) };
}
