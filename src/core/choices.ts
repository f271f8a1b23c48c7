import type { Choice } from './message.ts';

/**
 * The choice that a typed text names: by its number in the list, its label or its value, letter case ignored.
 * `text` is one line. Undefined for everything else: words around a choice may mean anything.
 */
export function readChoice(text: string, choices: readonly Choice[]): Choice | undefined {
  const said = folded(text);
  const number = /^(\d{1,2})[.)]?$/.exec(said)?.[1];
  // A label that is itself a number comes first: it is what people see.
  return (
    choices.find(({ label, value }) => folded(label) === said || folded(value) === said) ??
    (number === undefined ? undefined : choices[Number(number) - 1])
  );
}

function folded(text: string): string {
  return text.normalize('NFC').trim().replace(/\s+/g, ' ').toLowerCase();
}
