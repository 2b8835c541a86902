// The page: its screens, the way between them, and what it says while the console is away.
import { signal } from "@preact/signals";
import { type ComponentType, type JSX, render } from "preact";
import { Elsewhere } from "./counts.js";
import { draft, watchDraft } from "./draft.js";
import { follow, link, version, waiting } from "./live.js";
import { Fault } from "./parts.js";
import { RequestFault, signIn } from "./request.js";
import { go, place, watchAddress } from "./router.js";
import { troubles } from "./troubles.js";
import { Approvals } from "./screens/approvals.js";
import { Audit } from "./screens/audit.js";
import { Calls } from "./screens/calls.js";
import { Clients } from "./screens/clients.js";
import { Definitions } from "./screens/definitions.js";
import { Now } from "./screens/now.js";
import { Policy } from "./screens/policy.js";
import { Servers } from "./screens/servers.js";

const SCREENS: readonly (readonly [id: string, name: string, screen: ComponentType])[] = [
  ["now", "Now", Now],
  ["calls", "Calls", Calls],
  ["approvals", "Approvals", Approvals],
  ["servers", "Servers", Servers],
  ["definitions", "Definitions", Definitions],
  ["audit", "Audit", Audit],
  ["policy", "Policy", Policy],
  ["clients", "Clients", Clients],
];

const SIGN_IN = new RequestFault(401, {
  error: "This page is not signed in, or the console was started again.",
  advice: "Press Enter in the terminal where mcp-secure-local console runs, and open the address it prints.",
});
const signInFault = signal<unknown>(undefined);

function Page(): JSX.Element {
  const { screen } = place.value;
  const [id, , Screen] = SCREENS.find(([each]) => each === screen) ?? SCREENS[0]!;
  if (signInFault.value !== undefined || link.value === "out")
    return (
      <main id="main">
        <h1>mcp-secure-local</h1>
        <Fault error={signInFault.value ?? SIGN_IN} />
        {draft.value !== undefined && (
          <>
            <h2>Your change of the policy is not saved</h2>
            <p>Copy it from here before you open the new address.</p>
            <textarea class="draft" readOnly value={draft.value.text} aria-label="The policy as you changed it" />
          </>
        )}
      </main>
    );
  return (
    <>
      <a class="skip" href={`#/${id}`} onClick={() => document.getElementById("main")?.focus()}>
        To the content
      </a>
      <header class="top">
        <h1>mcp-secure-local</h1>
        <nav aria-label="Screens">
          {SCREENS.map(([each, name]) => (
            <button key={each} type="button" aria-current={each === id ? "page" : undefined} onClick={() => go(each)}>
              {name}
              <Badge screen={each} />
            </button>
          ))}
        </nav>
        <span class={`link-${link.value}`} role="status">
          {link.value === "live"
            ? `live · ${version.value}`
            : link.value === "opening"
              ? "opening…"
              : "The console does not answer. Trying again… If it was started again, open the address it printed."}
        </span>
      </header>
      <main id="main" tabIndex={-1}>
        {id !== "now" && <Elsewhere />}
        <Screen key={id} />
      </main>
    </>
  );
}

function Badge({ screen }: { readonly screen: string }): JSX.Element | null {
  const [asked, wrong] = [waiting.value.length, troubles.value.length];
  const count = screen === "approvals" ? asked : screen === "now" ? asked + wrong : 0;
  const words = screen === "approvals" ? `${asked} waiting` : `${asked} waiting for you, ${wrong} problems`;
  return count === 0 ? null : (
    <span class="badge" title={words}>
      {count}
    </span>
  );
}

watchAddress();
watchDraft();
render(<Page />, document.getElementById("page")!);
signIn().then(follow, (error: unknown) => (signInFault.value = error));
