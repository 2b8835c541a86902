// Whom a question to the policy is about: the whole of it, one of its profiles, or a client by the profile that it has.
import type { JSX } from "preact";
import type { RunningClient } from "./api.js";
import { ownPolicy, servers } from "./live.js";
import { Shown, visible } from "./parts.js";
import { go, place } from "./router.js";

/** What begins the name of a client, and that of a profile, in the address. */
const CLIENT = "client ";
const PROFILE = "profile ";

interface Seen {
  readonly name: string;
  readonly profile: string;
}

/** Clients of the policy that the page shows, each once with each profile that it had. */
function seen(): readonly Seen[] {
  const own = servers.value.filter(({ policy: { file } }) => file === ownPolicy.value);
  const all = own.flatMap(({ policy, clients = [] }) =>
    clients.map((client): Seen => ({ name: nameOf(client), profile: client.profile ?? policy.profile ?? "" })),
  );
  return [...new Map(all.map((each) => [JSON.stringify(each), each])).values()];
}

function nameOf({ name, principal }: RunningClient): string {
  return [name === "" ? "a client that did not say its name" : name, principal]
    .filter((each) => each !== "")
    .join(", ");
}

/** The value that stands for a client, in the address of the page. */
function valueOf({ name, profile }: Seen): string {
  return `${CLIENT}${profile} ${name}`;
}

/** The profile that is asked about; empty: the whole policy. */
export function profileAsked(): string {
  const chosen = place.value.query.get("for") ?? "";
  if (chosen.startsWith(PROFILE)) return chosen.slice(PROFILE.length);
  return chosen.startsWith(CLIENT) ? (chosen.slice(CLIENT.length).split(" ")[0] ?? "") : "";
}

/** The same in words. */
export function asksFor(): string {
  const profile = profileAsked();
  const chosen = place.value.query.get("for") ?? "";
  const by = profile === "" ? "the whole policy" : `the profile ${profile}`;
  if (!chosen.startsWith(CLIENT)) return profile === "" ? "the whole policy: clients without a profile" : by;
  return `${chosen.slice(CLIENT.length + profile.length + 1)}, which has ${by}`;
}

/** The choice, and who has which profile. */
export function ForWhom({ profiles }: { readonly profiles: readonly string[] }): JSX.Element | null {
  const clients = seen();
  if (profiles.length === 0 && profileAsked() === "") return null;
  const chosen = place.value.query.get("for") ?? "";
  const known = ["", ...profiles.map((each) => PROFILE + each), ...clients.map(valueOf)];
  return (
    <>
      <div class="filters">
        <label>
          For
          <select
            value={chosen}
            onChange={({ currentTarget: { value } }) =>
              go("policy", { ...Object.fromEntries(place.value.query), for: value }, true)
            }
          >
            <option value="">the whole policy, without a profile</option>
            {profiles.map((each) => (
              <option key={each} value={PROFILE + each}>
                the profile {each}
              </option>
            ))}
            {clients.map((each) => (
              <option key={valueOf(each)} value={valueOf(each)}>
                {visible(each.name)}: {each.profile === "" ? "the whole policy" : `the profile ${each.profile}`}
              </option>
            ))}
            {!known.includes(chosen) && <option value={chosen}>{visible(asksFor())}</option>}
          </select>
        </label>
      </div>
      <p class="note">
        The policy has {profiles.length === 1 ? "the profile" : "the profiles"} <Shown text={profiles.join(", ")} />. A
        profile leaves a part of it to the clients that have it.
        {clients.length > 0 && (
          <>
            {" "}
            Now: <Shown text={clients.map(({ name, profile }) => `${name} has ${profile || "none"}`).join("; ")} />.
          </>
        )}
      </p>
    </>
  );
}

/** The profile of a client, and the way to what that reaches, where the page Policy shows its policy. */
export function ProfileOf({
  of,
  file,
}: {
  readonly of: RunningClient;
  readonly file: string | undefined;
}): JSX.Element {
  const { profile = "" } = of;
  const words = profile === "" ? "none: it has the whole policy" : profile;
  if (file !== ownPolicy.value) return <Shown text={`${words}, of ${file ?? "the built-in policy"}`} />;
  return (
    <button type="button" class="link" onClick={() => go("policy", { for: valueOf({ name: nameOf(of), profile }) })}>
      {words}
    </button>
  );
}
