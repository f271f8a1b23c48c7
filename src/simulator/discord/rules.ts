/** What the platform refuses of a message and the emulator takes, each rule with its page. */

import { PLATFORM_LIMITS } from '../../../channels/discord/platform-limits.ts';
import type { JsonObject, UploadedFile } from './wire.ts';

export interface RuleRefusal {
  readonly status: number;
  readonly body: JsonObject;
}

const FILE_LIMIT = PLATFORM_LIMITS.upload.value;
const REQUEST_LIMIT = PLATFORM_LIMITS.request.value;
const TEXT_LIMIT = PLATFORM_LIMITS.text.value;
const NONCE_LIMIT = PLATFORM_LIMITS.nonce.value;
const ROWS = PLATFORM_LIMITS.rows.value;
const BUTTONS_PER_ROW = PLATFORM_LIMITS.buttonsPerRow.value;
const LABEL_LIMIT = PLATFORM_LIMITS.label.value;
const ID_LIMIT = PLATFORM_LIMITS.customId.value;
/**
 * "max 25", "max 100 characters" and that a row holds "a single select component"
 * (https://docs.discord.com/developers/components/reference#string-select, #action-row).
 */
const STRING_SELECT = 3;
const OPTIONS = 25;
const OPTION_LIMIT = 100;

/**
 * "When creating a message as a reply to another message, the current user must have the READ_MESSAGE_HISTORY
 * permission" (https://docs.discord.com/developers/resources/message#create-message). `without`: channels in
 * which the bot lacks it.
 */
export function replyRefusal(route: string, body: JsonObject, without: ReadonlySet<string>): RuleRefusal | undefined {
  const channel = /^\/channels\/(\d+)\/messages$/.exec(route)?.[1];
  if (channel === undefined || !without.has(channel) || body['message_reference'] === undefined) return undefined;
  const message = 'Cannot reply without permission to read message history';
  return { status: 403, body: { message, code: 160_002 } };
}

/** The refusal of a message that is sent or edited; undefined for one that the platform takes. */
export function refusalOf(body: JsonObject, files: readonly UploadedFile[], bytes: number): RuleRefusal | undefined {
  // The words and the code as in https://github.com/discord/discord-api-docs/issues/6058.
  if (bytes > REQUEST_LIMIT || files.some((file) => file.bytes.length > FILE_LIMIT)) {
    return { status: 413, body: { message: 'Request entity too large', code: 40_005 } };
  }
  const { nonce, content } = body;
  if (typeof content === 'string' && [...content].length > TEXT_LIMIT)
    return invalid('content', `Must be ${TEXT_LIMIT} or fewer in length.`);
  if (nonce !== undefined && String(nonce).length > NONCE_LIMIT)
    return invalid('nonce', `Must be ${NONCE_LIMIT} or fewer in length.`);
  const problem = rowsProblem(body['components']);
  return problem === undefined ? undefined : invalid('components', problem);
}

/** Action rows of buttons or of a menu, the only components of ours. */
function rowsProblem(components: unknown): string | undefined {
  if (components === undefined) return undefined;
  if (!Array.isArray(components) || components.length > ROWS) return `Must be ${ROWS} or fewer in length.`;
  const ids = new Set<string>();
  for (const row of components as readonly JsonObject[]) {
    const buttons = row['components'];
    if (row['type'] !== 1 || !Array.isArray(buttons) || buttons.length < 1 || buttons.length > BUTTONS_PER_ROW) {
      return `Must be between 1 and ${BUTTONS_PER_ROW} in length.`;
    }
    const hasMenu = (buttons as readonly JsonObject[]).some(({ type }) => type === STRING_SELECT);
    if (hasMenu && buttons.length > 1) return 'A select menu must be alone in its row';
    for (const component of buttons as readonly JsonObject[]) {
      const { label, custom_id } = component;
      const problem = hasMenu ? menuProblem(component) : isText(label, LABEL_LIMIT) ? undefined : tooLong(LABEL_LIMIT);
      if (problem !== undefined) return problem;
      if (typeof custom_id !== 'string' || custom_id === '' || custom_id.length > ID_LIMIT)
        return `Must be ${ID_LIMIT} or fewer in length.`;
      if (ids.has(custom_id)) return 'Component custom id cannot be duplicated';
      ids.add(custom_id);
    }
  }
  return undefined;
}

function menuProblem({ options }: JsonObject): string | undefined {
  if (!Array.isArray(options) || options.length < 1 || options.length > OPTIONS) return tooLong(OPTIONS);
  const values = (options as readonly JsonObject[]).map(({ value }) => value);
  const isSized = (options as readonly JsonObject[]).every(
    ({ label, value }) => isText(label, OPTION_LIMIT) && isText(value, OPTION_LIMIT),
  );
  if (!isSized) return tooLong(OPTION_LIMIT);
  // Unverified: no page says so, but what is pressed could not be told apart.
  return new Set(values).size < values.length ? 'The specified option value is already used' : undefined;
}

function isText(value: unknown, most: number): boolean {
  return typeof value === 'string' && value !== '' && [...value].length <= most;
}

function tooLong(most: number): string {
  return `Must be between 1 and ${most} in length.`;
}

/** https://discord.com/developers/docs/reference#error-messages */
function invalid(field: string, message: string): RuleRefusal {
  const errors = { [field]: { _errors: [{ code: 'BASE_TYPE_BAD_LENGTH', message }] } };
  return { status: 400, body: { code: 50_035, message: 'Invalid Form Body', errors } };
}
