/** Words of others in messages of the agent: how each of these begins, and how it is known again when quoted. */

/** Whose words stand below: those of a person or job that had them sent, or of a program. */
export const RELAYED = { person: 'On behalf of', program: 'From the program' } as const;

/** Platforms may put signs of their markup before the words. */
const BEGINNING = new RegExp(`^[^\\p{L}\\p{N}]*(?:${Object.values(RELAYED).join('|')})\\s`, 'u');

/** Whether a message of the agent holds words of others. An answer that begins like one counts as one. */
export function isRelayed(text: string): boolean {
  return BEGINNING.test(text);
}

/** The line above every message of a program, by its name in the config. */
export function programHead(name: string): string {
  return `${RELAYED.program} \`${name}\`:`;
}
