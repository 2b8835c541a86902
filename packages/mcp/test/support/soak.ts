// How often tests that repeat themselves do so: a part of it by default, all of it with SOAK=1.

export const soaking: boolean = process.env["SOAK"] === "1";

/** The first number in a usual run, the second in a long one. */
export function repeated(usual: number, soaked: number): number {
  return soaking ? soaked : usual;
}

/** Every nth item in a usual run, all of them in a long one. */
export function sampled<T>(items: readonly T[], every: number): readonly T[] {
  return soaking ? items : items.filter((_, index) => index % every === 0);
}
