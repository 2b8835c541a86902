// What `registerTool`, `registerResource` and `registerPrompt` give back: handles that change what they registered.
import type { Registration } from "../server/registry.js";
import type { Server as CoreServer } from "../server/server.js";

/** Puts one thing into our core as it is described now. */
type Enter<D> = (core: CoreServer, key: string, described: D) => Pick<Registration, "remove">;

/** What changes with `update`; a key of null removes. */
export type Updates<D> = Partial<D> & { readonly enabled?: boolean | undefined };

/** Something registered, under its key. Its members are those of its description, as the SDKs show them. */
export class Registered<D extends object> {
  enabled = true;
  readonly #owner: Owner;
  readonly #kind: string;
  readonly #enter: Enter<D>;
  #key: string;
  #described: D;
  #live: Pick<Registration, "remove"> | undefined;
  #removed = false;

  constructor(owner: Owner, kind: string, key: string, described: D, enter: Enter<D>) {
    this.#owner = owner;
    this.#kind = kind;
    this.#key = key;
    this.#described = described;
    this.#enter = enter;
    owner.add(kind, key);
    owner.whenBuilt((core) => this.#appear(core));
  }

  /** As it is described now. */
  get described(): D {
    return this.#described;
  }

  get key(): string {
    return this.#key;
  }

  enable(): void {
    this.update({ enabled: true } as Updates<D>);
  }

  disable(): void {
    this.update({ enabled: false } as Updates<D>);
  }

  remove(): void {
    this.#disappear();
    this.#owner.delete(this.#kind, this.#key);
    this.#removed = true;
  }

  /** Changes what is given; a `key` moves it, and null removes it. */
  update({ enabled = this.enabled, ...changes }: Updates<D>, key: string | null = this.#key): void {
    if (key === null) return this.remove();
    if (this.#removed) return;
    if (key !== this.#key) {
      this.#owner.add(this.#kind, key);
      this.#owner.delete(this.#kind, this.#key);
    }
    this.#disappear();
    this.#key = key;
    const given = Object.entries(changes).filter(([, value]) => value !== undefined);
    this.#described = { ...this.#described, ...Object.fromEntries(given) };
    this.enabled = enabled;
    this.#owner.whenThere((core) => this.#appear(core));
  }

  #appear(core: CoreServer): void {
    if (this.enabled && !this.#removed && this.#live === undefined)
      this.#live = this.#enter(core, this.#key, this.#described);
  }

  #disappear(): void {
    this.#live?.remove();
    this.#live = undefined;
  }
}

/** Keys in use, and the core once there is one. */
export class Owner {
  readonly #keys = new Set<string>();
  readonly #built: (task: (core: CoreServer) => void) => void;
  #core: CoreServer | undefined;

  /** `built` calls each task with the core as soon as there is one. */
  constructor(built: (task: (core: CoreServer) => void) => void) {
    this.#built = built;
    built((core) => {
      this.#core = core;
    });
  }

  /** Throws where the key is taken. */
  add(kind: string, key: string): void {
    const place = `${kind} ${key}`;
    if (this.#keys.has(place)) throw new Error(`${kind} ${key} is already registered`);
    this.#keys.add(place);
  }

  delete(kind: string, key: string): void {
    this.#keys.delete(`${kind} ${key}`);
  }

  whenBuilt(task: (core: CoreServer) => void): void {
    this.#built(task);
  }

  whenThere(task: (core: CoreServer) => void): void {
    if (this.#core !== undefined) task(this.#core);
  }
}
