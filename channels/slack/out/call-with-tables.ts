/** A call whose message may hold a table as a block. */
import { apiFailureOf, type ErrorCode } from '../../kit/call-error.ts';
import { type JsonObject, list, obj } from '../../kit/json.ts';

/** What the platform says of blocks that it does not take. Nothing was shown then. */
const REFUSED: ReadonlySet<ErrorCode | undefined> = new Set(
  'invalid_blocks invalid_blocks_format invalid_attachments msg_blocks_too_long'.split(' '),
);

/**
 * Repeats a call whose table is refused with the table as text: the rest of the message keeps its markup,
 * which the second try of a `markup` refusal would take away. Rejects like `call`.
 */
export async function callWithTables(
  make: (tables: boolean) => Promise<JsonObject>,
  call: (args: JsonObject) => Promise<JsonObject>,
): Promise<JsonObject> {
  const args = await make(true);
  try {
    return await call(args);
  } catch (error) {
    const hasTable = list(args['blocks']).some((block) => obj(block)['type'] === 'table');
    if (!hasTable || !REFUSED.has(apiFailureOf(error)?.code)) throw error;
    return await call(await make(false));
  }
}
