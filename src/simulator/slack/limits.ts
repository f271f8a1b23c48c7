/** What the platform refuses, breaks up or cuts off by its size. Counted as it was sent: after escaping. */

import { PLATFORM_LIMITS } from '../../../channels/slack/platform-limits.ts';
import { ApiError } from './api-error.ts';
import { readTables } from './tables.ts';
import type { Json } from './workspace.ts';

/** The pages say characters, measured live it is bytes. Both hold here. */
const UPDATE_TEXT = PLATFORM_LIMITS.updateText.value;
const POST_CUT_OFF = PLATFORM_LIMITS.postText.value;
const ONE_POST = PLATFORM_LIMITS.onePost.value;
const PIECE = PLATFORM_LIMITS.pieceOfPost.value;
const BLOCKS = PLATFORM_LIMITS.blocks.value;
const ACTIONS = PLATFORM_LIMITS.actions.value;
const SECTION = PLATFORM_LIMITS.sectionText.value;
const LABEL = PLATFORM_LIMITS.label.value;
const VALUE = PLATFORM_LIMITS.buttonValue.value;
const ACTION_ID = PLATFORM_LIMITS.actionId.value;
const ALL_BLOCKS = PLATFORM_LIMITS.allBlocks.value;
const OPTIONS = PLATFORM_LIMITS.options.value;
const PLACEHOLDER = PLATFORM_LIMITS.placeholder.value;
const OPTION_TEXT = PLATFORM_LIMITS.optionText.value;
const OPTION_VALUE = PLATFORM_LIMITS.optionValue.value;

/** Throws where an edit of this text is refused. */
export function checkUpdate(text: string): void {
  if (Buffer.byteLength(text) > UPDATE_TEXT || text.length > UPDATE_TEXT) throw new ApiError('msg_too_long');
}

/** The texts of the messages that one call posts. */
export function postedPieces(text: string): readonly string[] {
  const kept = [...text].slice(0, POST_CUT_OFF);
  if (kept.length <= ONE_POST) return [kept.join('')];
  return Array.from({ length: Math.ceil(kept.length / PIECE) }, (_, n) => kept.slice(n * PIECE, (n + 1) * PIECE).join(''));
}

/** The blocks that the bot sends; any other one is refused here. */
const KINDS: readonly unknown[] = ['section', 'table', 'actions'];

/** Throws where blocks are refused; undefined where the call has none. */
export function readBlocks(value: unknown): readonly Json[] | undefined {
  if (typeof value !== 'string') return undefined;
  const blocks = JSON.parse(value) as readonly Json[];
  const texts = blocks.flatMap((block) => (block['type'] === 'section' ? [textOf(block)] : []));
  const elements = blocks.flatMap((block) => (block['type'] === 'actions' ? [block['elements'] as readonly Json[]] : []));
  const isRight =
    blocks.length <= BLOCKS &&
    blocks.every(({ type }) => KINDS.includes(type)) &&
    texts.every((text) => text.length > 0 && text.length <= SECTION) &&
    elements.every((row) => row.length > 0 && row.length <= ACTIONS && row.every(isElement)) &&
    areUnique(elements.flat().map((element) => element['action_id']));
  if (!isRight) throw new ApiError('invalid_blocks');
  // No page says whether cells count among the text of all blocks.
  if (`${texts.join('')}${readTables(blocks)}`.length > ALL_BLOCKS) throw new ApiError('msg_blocks_too_long');
  return blocks;
}

/** The two elements that the bot sends; any other one is refused here. */
function isElement(element: Json): boolean {
  if (String(element['action_id'] ?? '').length > ACTION_ID) return false;
  return element['type'] === 'static_select' ? isMenu(element) : element['type'] === 'button' && isButton(element);
}

function isButton(element: Json): boolean {
  const [label, value] = [textOf(element), String(element['value'] ?? '')];
  return label.length > 0 && label.length <= LABEL && value.length <= VALUE;
}

function isMenu({ options, placeholder }: Json): boolean {
  const all = Array.isArray(options) ? (options as readonly Json[]) : [];
  const prompt = placeholder as Json | undefined;
  const isPrompted = prompt === undefined || (prompt['type'] === 'plain_text' && String(prompt['text']).length <= PLACEHOLDER);
  return isPrompted && all.length > 0 && all.length <= OPTIONS && all.every(isOption) && areUnique(all.map(({ value }) => value));
}

function isOption(option: Json): boolean {
  const [text, value] = [option['text'] as Json | undefined, String(option['value'] ?? '')];
  const label = textOf(option);
  const isTold = text?.['type'] === 'plain_text' && label.length > 0 && label.length <= OPTION_TEXT;
  return isTold && value.length > 0 && value.length <= OPTION_VALUE;
}

function areUnique(ids: readonly unknown[]): boolean {
  return new Set(ids).size === ids.length;
}

function textOf(block: Json): string {
  return String((block['text'] as Json | undefined)?.['text'] ?? '');
}
