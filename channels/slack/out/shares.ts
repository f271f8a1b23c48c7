/**
 * Is a file shown yet? The platform first says that it has it, scans it, and makes the message later,
 * sometimes never.
 */
import type { Clock } from '../../../src/core/ports.ts';
import { apiFailureOf, CallError } from '../../kit/call-error.ts';
import { list, obj, str } from '../../kit/json.ts';
import type { SlackClient } from '../wire/client.ts';
import { LATER, MAYBE_DONE } from '../wire/failure.ts';

export interface ShareOptions {
  readonly client: Pick<SlackClient, 'call'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** `pending`: it exists, and is not shown yet. `absent`: no such file. `unsaid`: we are not told. */
export type Share = { readonly ts: string } | 'pending' | 'absent' | 'unsaid';

/** Waits between the looks; a scan takes seconds. */
const LOOKS_MS = [500, 1_500, 3_000, 5_000, 5_000];

/** Asks until the file is shown or the looks are over. Rejects with the signal's reason alone. */
export async function awaitShare(fileId: string, chatId: string, options: ShareOptions): Promise<Share> {
  const { clock, signal } = options;
  let share = await askShare(fileId, chatId, options);
  for (const waitMs of LOOKS_MS) {
    if (share !== 'pending') return share;
    await clock.sleep(waitMs, signal);
    share = await askShare(fileId, chatId, options);
  }
  return share;
}

/** One look. A question that fails says nothing about the file: `pending`. */
export async function askShare(fileId: string, chatId: string, { client, signal }: ShareOptions): Promise<Share> {
  try {
    const { public: open, private: closed } = obj(
      obj((await client.call('files.info', { file: fileId }, signal))['file'])['shares'],
    );
    const shares = { ...obj(open), ...obj(closed) };
    // It was uploaded for one conversation alone; that may have got another id meanwhile.
    const [first] = list(shares[chatId] ?? Object.values(shares)[0]);
    const ts = str(obj(first)['ts']);
    return ts === undefined ? 'pending' : { ts };
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    const word = apiFailureOf(error)?.code;
    if (word === undefined || LATER.has(word) || MAYBE_DONE.has(word)) return 'pending';
    return word === 'file_not_found' ? 'absent' : 'unsaid';
  }
}
