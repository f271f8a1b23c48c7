import { ToolFailure } from './define.ts';

/**
 * Bytes of a label, which is also what comes back when it is pressed: Telegram gives that 64
 * (`Choice.value`).
 */
export const LABEL_BYTES = 60;

/**
 * Labels as they are shown. Throws `ToolFailure` where one cannot be told from another, from a number, or
 * from a command: what a button says is all that it may send.
 */
export function choiceLabels(given: readonly string[], isReserved: (words: string) => boolean): readonly string[] {
  const labels = given.map((label) =>
    label
      .normalize('NFC')
      .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
      .trim(),
  );
  for (const label of labels) assertLabel(label);
  if (new Set(labels.map((label) => label.toLowerCase())).size < labels.length) {
    throw new ToolFailure('every choice needs a label of its own; upper and lower case are not told apart');
  }
  const reserved = labels.find((label) => isReserved(label));
  if (reserved !== undefined) {
    throw new ToolFailure(`"${reserved}" is a command of the chat itself and would never reach you; word it in another way`);
  }
  return labels;
}

function assertLabel(label: string): void {
  if (label === '') throw new ToolFailure('a choice has no label');
  const bytes = Buffer.byteLength(label, 'utf8');
  if (bytes > LABEL_BYTES) {
    throw new ToolFailure(`"${label}" has ${bytes} bytes in UTF-8; a choice has at most ${LABEL_BYTES}, so shorten it`);
  }
  // It could be the number of another choice.
  if (/^\d+[.)]?$/.test(label)) throw new ToolFailure(`"${label}" is only a number; add what it counts, as in "${label} people"`);
}
