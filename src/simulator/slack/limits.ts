/** What the platform refuses, breaks up or cuts off by its size. Counted as it was sent: after escaping. */
import { ApiError } from './api-error.ts';
import type { Json } from './workspace.ts';

/**
 * `chat.update`: "The `text` field cannot exceed 4,000 characters"
 * (docs.slack.dev/reference/methods/chat.update, `msg_too_long`). Measured live it is bytes: 4,000 bytes of
 * UTF-8 pass, 4,002 do not (github.com/openclaw/openclaw/pull/115027). Both hold here.
 */
const UPDATE_TEXT = 4_000;
/**
 * `chat.postMessage`: "Slack will truncate messages containing more than 40,000 characters" (its page, under
 * "Truncating content").
 */
const POST_CUT_OFF = 40_000;
/**
 * Longer text is "automatically broken into multiple messages"
 * (api.slack.com/changelog/2018-04-truncating-really-long-messages). Where is stated by no page; measured on
 * 2026-08-27: 4,040 stay one message, more become messages of 4,000.
 */
const ONE_POST = 4_040;
const PIECE = 4_000;
/** Block Kit reference: blocks of a message, elements of `actions`, characters of the fields below. */
const BLOCKS = 50;
const ACTIONS = 25;
const SECTION = 3_000;
const LABEL = 75;
const VALUE = 2_000;
const ACTION_ID = 255;
/**
 * Options of a `static_select` and its placeholder
 * (docs.slack.dev/reference/block-kit/block-elements/select-menu-element); text and value of an option, which
 * is "a unique string value" (docs.slack.dev/reference/block-kit/composition-objects/option-object).
 */
const OPTIONS = 100;
const PLACEHOLDER = 150;
const OPTION_TEXT = 75;
const OPTION_VALUE = 150;
/**
 * All blocks of a message together: "12,000 text characters" of which 9,597 passed and 11,341 did not
 * (github.com/slackapi/bolt-js/issues/2509).
 */
const ALL_BLOCKS = 9_600;

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

/** Throws where blocks are refused; undefined where the call has none. */
export function readBlocks(value: unknown): readonly Json[] | undefined {
  if (typeof value !== 'string') return undefined;
  const blocks = JSON.parse(value) as readonly Json[];
  const texts = blocks.flatMap((block) => (block['type'] === 'section' ? [textOf(block)] : []));
  const elements = blocks.flatMap((block) => (block['type'] === 'actions' ? [block['elements'] as readonly Json[]] : []));
  const isRight =
    blocks.length <= BLOCKS &&
    texts.every((text) => text.length > 0 && text.length <= SECTION) &&
    elements.every((row) => row.length > 0 && row.length <= ACTIONS && row.every(isElement)) &&
    areUnique(elements.flat().map((element) => element['action_id']));
  if (!isRight) throw new ApiError('invalid_blocks');
  if (texts.join('').length > ALL_BLOCKS) throw new ApiError('msg_blocks_too_long');
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
