// Names the switches that stand for a field of several choices where a form cannot have one, and reads them back.

/** The name of the switch for one choice of a field. */
export function optionKey(field: string, choice: string): string {
  return `${field}[${choice}]`;
}

/** The choices switched on, or undefined when the content has no switch of the field. */
export function switchedOn(
  content: { readonly [name: string]: unknown },
  field: string,
  choices: readonly string[],
): string[] | undefined {
  const keys = choices.map((choice) => optionKey(field, choice));
  if (!keys.some((key) => key in content)) return undefined;
  return choices.filter((_, index) => content[keys[index] as string] === true);
}
