/** The blocks of a message: what is shown in place of its text. Pure. */
import type { Choice } from '../../../src/core/message.ts';
import type { JsonObject } from '../../kit/json.ts';
import { CHOICE_ACTION } from '../in/inbound-choice.ts';
import { PLATFORM_LIMITS } from '../platform-limits.ts';

const SECTION_LIMIT = PLATFORM_LIMITS.sectionText.value;
const LABEL_LIMIT = PLATFORM_LIMITS.label.value;
/** More of them stand in several rows, and become a menu. */
const MAX_BUTTONS = 5;

/** None of ''. Without `expand` an app may show the beginning alone, with "see more" below it. */
export function toSections(text: string, mrkdwn: boolean): readonly JsonObject[] {
  // `plain_text` shows entities as they are written; mrkdwn with `verbatim` leaves names and addresses alone.
  return cut(text).map((piece) => ({
    type: 'section',
    expand: true,
    text: mrkdwn
      ? { type: 'mrkdwn', text: piece, verbatim: true }
      : { type: 'plain_text', text: withoutEntities(piece), emoji: false },
  }));
}

/** None of no choices. */
export function toActions(choices: readonly Choice[]): readonly JsonObject[] {
  if (choices.length === 0) return [];
  return [{ type: 'actions', elements: choices.length > MAX_BUTTONS ? [toMenu(choices)] : choices.map(toButton) }];
}

function toButton({ label, value }: Choice, index: number): JsonObject {
  return { type: 'button', action_id: `${CHOICE_ACTION}${index}`, text: plainLabel(label), value };
}

/** https://docs.slack.dev/reference/block-kit/block-elements/select-menu-element#static_select */
function toMenu(choices: readonly Choice[]): JsonObject {
  const options = choices.map(({ label, value }) => ({ text: plainLabel(label), value }));
  return { type: 'static_select', action_id: `${CHOICE_ACTION}menu`, placeholder: plainLabel('Choose…'), options };
}

function plainLabel(label: string): JsonObject {
  return { type: 'plain_text', text: label.slice(0, LABEL_LIMIT), emoji: true };
}

/**
 * Pieces a section can hold, cut at a line's end where there is one. A code block that is cut goes on as one.
 */
function cut(text: string): readonly string[] {
  const pieces: string[] = [];
  let rest = text;
  while (rest.length > SECTION_LIMIT) {
    const room = SECTION_LIMIT - 8;
    const line = rest.lastIndexOf('\n', room);
    const at = line > room / 2 ? line : beforeToken(rest, room);
    const piece = rest.slice(0, at);
    const open = (piece.split('```').length - 1) % 2 === 1;
    pieces.push(open ? `${piece}\n\`\`\`` : piece);
    rest = (open ? '```\n' : '') + rest.slice(at).replace(/^\n/, '');
  }
  return rest === '' ? pieces : [...pieces, rest];
}

/** `at`, or in front of the link, the entity or the pair of surrogates that would be cut there. */
function beforeToken(text: string, at: number): number {
  const head = text.slice(0, at);
  const token = /(?:<[^<>]*|&[a-z]{0,3}|[\uD800-\uDBFF])$/.exec(head);
  return token && token.index > 0 ? token.index : at;
}

function withoutEntities(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}
