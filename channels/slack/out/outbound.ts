/** `OutboundPart` -> the arguments of one call, and the outcome of a call -> `SendResult`. */
import type { SendResult } from '../../../src/core/channel.ts';
import { draftKey, shortHash } from '../../../src/core/ids.ts';
import type { OutboundPart } from '../../../src/core/message.ts';
import type { CallFailure, ErrorCode } from '../../kit/call-error.ts';
import { type Refusal, sendResultOf } from '../../kit/call-result.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { OnlyFor } from '../in/inbound-fields.ts';
import { PLATFORM_LIMITS } from '../platform-limits.ts';
import { LATER, MAYBE_DONE } from '../wire/failure.ts';
import { toActions, toSections } from './blocks.ts';
import { escapeText, literalText, toMrkdwn } from './format.ts';
import { splitAtTable } from './table-block.ts';

/**
 * Longest text of a message, as it is sent, in bytes of UTF-8: an edit takes no more, and a post breaks up
 * what is longer.
 */
export const TEXT_LIMIT = PLATFORM_LIMITS.updateText.value;
/**
 * Names our metadata among those of other apps. Other apps of the workspace can read it: the key goes in as
 * its hash.
 */
export const METADATA_TYPE = 'gatehouse_part';

export function metadataKey(part: Pick<OutboundPart, 'key'>): string {
  return shortHash(part.key, 32);
}

/** The text as the platform wants it, and whether it reads markup in it. */
export async function toText(part: Pick<OutboundPart, 'text'>, plain: boolean): Promise<{ text: string; mrkdwn: boolean }> {
  const rendered = plain ? '' : await toMrkdwn(part.text);
  // Text that renders to nothing goes out as it was written.
  return rendered === '' ? { text: escapeText(part.text), mrkdwn: false } : { text: rendered, mrkdwn: true };
}

/** Arguments of `chat.postMessage`. `tables`: see `callWithTables`. */
export async function toPost(part: OutboundPart, plain: boolean, tables = true): Promise<JsonObject> {
  return {
    channel: part.chatId,
    ...(part.threadId !== undefined && { thread_ts: part.threadId }),
    ...(await toBody(part, { plain, tables })),
    unfurl_links: false,
    unfurl_media: false,
    metadata: { event_type: METADATA_TYPE, event_payload: { key: metadataKey(part) } },
  };
}

/**
 * Arguments of `chat.postEphemeral`, which has neither metadata nor a text without markup. In a thread it
 * is "only shown if there is already an active thread"
 * (https://docs.slack.dev/reference/methods/chat.postEphemeral): not in one that the command itself would
 * begin.
 */
export async function toEphemeral(part: OutboundPart, { user }: OnlyFor, plain: boolean): Promise<JsonObject> {
  const { threadId, chatId, replyContext } = part;
  const isActive = threadId !== undefined && threadId !== replyContext?.['ts'];
  return { channel: chatId, user, ...(isActive && { thread_ts: threadId }), ...(await toMarkup(part, { plain, tables: false })) };
}

/** Arguments of `chat.update`. */
export async function toUpdate(
  target: { readonly chatId: string; readonly ts: string },
  part: OutboundPart,
  plain: boolean,
  tables = true,
): Promise<JsonObject> {
  // An empty list takes buttons and table of the message away.
  return { channel: target.chatId, ts: target.ts, blocks: [], ...(await toMarkup(part, { plain, tables })) };
}

interface Shape {
  /** Without markup. */
  readonly plain: boolean;
  /** Tables as tables: see `callWithTables`. */
  readonly tables: boolean;
}

/** The body for a method that always reads markup: plain text is kept from being any. */
async function toMarkup(part: OutboundPart, shape: Shape): Promise<JsonObject> {
  const { mrkdwn, ...body } = await toBody(part, shape);
  return { ...body, text: mrkdwn ? body['text'] : literalText(part.text) };
}

/**
 * Beside blocks, `text` is for notifications and search; it says all of it too. While an answer grows its
 * table is text, because the cell that is being written would change the width of all others.
 */
async function toBody(part: OutboundPart, { plain, tables }: Shape): Promise<JsonObject & { readonly mrkdwn: boolean }> {
  const { text, mrkdwn } = await toText(part, plain);
  const split = tables && mrkdwn && !part.key.endsWith(draftKey('')) ? splitAtTable(part.text) : undefined;
  const actions = toActions(part.choices ?? []);
  const words = actions.length > 0 ? toSections(text, mrkdwn) : [];
  const shown = split ? [...toSections(split.before, true), split.table, ...toSections(split.after, true)] : words;
  const blocks = [...shown, ...actions];
  return { text, mrkdwn, parse: 'none', link_names: false, ...(blocks.length > 0 && { blocks }) };
}

/** The organisation is being moved, which takes the platform minutes at least. */
const MOVING_MS = 60_000;

/**
 * Errors of https://docs.slack.dev/reference/methods/chat.postMessage, and of the file methods. A scope that
 * is missing is `invalid`: it stops files, say, and not all that the login sends.
 */
const REFUSALS: readonly (readonly [Refusal, readonly string[]])[] = [
  ['auth', 'invalid_auth not_authed account_inactive token_revoked token_expired ekm_access_denied'.split(' ')],
  [
    'chat-gone',
    'channel_not_found is_archived not_in_channel user_not_in_channel user_not_found user_disabled thread_not_found invalid_thread_ts'.split(
      ' ',
    ),
  ],
  ['chat-gone', 'message_not_found channel_is_archived cannot_find_channel invalid_channel'.split(' ')],
  ['too-long', 'msg_too_long msg_blocks_too_long file_upload_size_restricted'.split(' ')],
  ['markup', 'invalid_blocks invalid_blocks_format markdown_text_conflict'.split(' ')],
  [
    'blocked',
    'no_permission restricted_action cannot_dm_bot messages_tab_disabled posting_to_channel_denied access_denied is_inactive'.split(
      ' ',
    ),
  ],
];
const MEANING: ReadonlyMap<ErrorCode, Refusal> = new Map(
  REFUSALS.flatMap(([reason, words]) => words.map((word) => [word, reason] as const)),
);

/**
 * What delivery is told about the call that failed. `scope` says whom a rate limit of this method concerns.
 */
export function toSendResult(failure: CallFailure, scope: 'chat' | 'account'): SendResult {
  return sendResultOf(failure.kind === 'limited' ? { ...failure, scope } : failure, ({ code: word = '', detail }) => {
    if (MAYBE_DONE.has(word)) return { kind: 'unknown', detail };
    if (word === 'org_login_required') return { kind: 'retry', reason: detail, afterMs: MOVING_MS, scope: 'account' };
    if (LATER.has(word)) return { kind: 'retry', reason: detail, afterMs: 1_000, scope };
    return MEANING.get(word) ?? (String(word).startsWith('restricted_action') ? 'blocked' : 'invalid');
  });
}
