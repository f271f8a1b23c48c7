/** Choices -> buttons, or a menu. */
import type { Choice } from '../../../src/core/message.ts';
import type { JsonObject } from '../../kit/json.ts';
import { choiceId, MENU_ID } from '../in/interaction.ts';
import { PLATFORM_LIMITS } from '../platform-limits.ts';

const { buttonsPerRow, label: buttonLabel, menuOptions, menuLabel } = PLATFORM_LIMITS;
/** The value of a choice has room in the id of a button, and in that of a menu: 60 bytes and its number. */
export const OPTIONS = menuOptions.value;

/** One row: of buttons while it holds them all, else a menu, in which the first 25 are offered. */
export function choiceRow(choices: readonly Choice[]): JsonObject {
  const components =
    choices.length <= buttonsPerRow.value
      ? choices.map(({ label, value }, index) => {
          return { type: 2, style: 2, label: shortened(label, buttonLabel.value), custom_id: choiceId(index, value) };
        })
      : [{ type: 3, custom_id: MENU_ID, options: choices.slice(0, OPTIONS).map(optionOf) }];
  return { type: 1, components };
}

function optionOf({ label, value }: Choice, index: number): JsonObject {
  return { label: shortened(label, menuLabel.value), value: choiceId(index, value) };
}

function shortened(label: string, most: number): string {
  return [...label].slice(0, most).join('') || '…';
}
