/** Choices -> buttons, or a menu. */
import type { Choice } from '../../../src/core/message.ts';
import type { JsonObject } from '../../kit/json.ts';
import { choiceId, MENU_ID } from '../in/interaction.ts';

/**
 * "Up to 5 contextually grouped buttons" in a row, "max 80 characters"
 * (https://docs.discord.com/developers/components/reference#action-row, #button).
 */
const BUTTONS = 5;
const BUTTON_CHARS = 80;
/**
 * "A single select component" in a row, "max 25" options, of each the label and the value "max 100
 * characters" (the same page, #string-select). A value of ours has less: 60 bytes and its number.
 */
export const OPTIONS = 25;
const OPTION_CHARS = 100;

/** One row: of buttons while it holds them all, else a menu, in which the first 25 are offered. */
export function choiceRow(choices: readonly Choice[]): JsonObject {
  const components =
    choices.length <= BUTTONS
      ? choices.map(({ label, value }, index) => {
          return { type: 2, style: 2, label: shortened(label, BUTTON_CHARS), custom_id: choiceId(index, value) };
        })
      : [{ type: 3, custom_id: MENU_ID, options: choices.slice(0, OPTIONS).map(optionOf) }];
  return { type: 1, components };
}

function optionOf({ label, value }: Choice, index: number): JsonObject {
  return { label: shortened(label, OPTION_CHARS), value: choiceId(index, value) };
}

function shortened(label: string, most: number): string {
  return [...label].slice(0, most).join('') || '…';
}
