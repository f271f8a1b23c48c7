/**
 * Words of others in messages of the agent: how each of these begins, and how it is known again when quoted.
 */
import type { Choice, OutboundPart } from './message.ts';

/** Whose words stand below: those of a person or job that had them sent, or of a program. */
export const RELAYED = { person: 'On behalf of', program: 'From the program' } as const;

/** Platforms may put signs of their markup before the words. */
const BEGINNING = new RegExp(`^[^\\p{L}\\p{N}]*(?:${Object.values(RELAYED).join('|')})\\s`, 'u');

/** Whether a message of the agent holds words of others. An answer that begins like one counts as one. */
export function isRelayed(text: string): boolean {
  return BEGINNING.test(text);
}

/** A choice in a list, where the platform has no buttons. */
const LISTED = /^(\d{1,2})\. (.+)$/gm;

/** The choices that a message of the agent offers, to press or in a list. */
export function choicesOffered({ text, choices }: Pick<OutboundPart, 'text' | 'choices'>): readonly Choice[] {
  if (choices && choices.length > 0) return choices;
  return [...text.matchAll(LISTED)].map(([, , label = '']) => ({ label, value: label }));
}

/** The line above every message of a program, by its name in the config. */
export function programHead(name: string): string {
  return `${RELAYED.program} \`${name}\`:`;
}
