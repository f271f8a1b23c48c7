/** Updates, polled or pushed -> messages, and what is done about them after the commit. */
import type { Update } from 'grammy/types';
import { errorText } from '../../../src/core/errors.ts';
import type { InboundMessage } from '../../../src/core/message.ts';
import type { Context } from '../../kit/context.ts';
import { withDeadline } from '../../kit/deadline.ts';
import type { TelegramClient } from '../wire/client.ts';
import { joinAlbums } from './albums.ts';
import { type InboundContext, migrationOf, toInbound, unreadable } from './inbound.ts';
import { pressOf, reactionOf } from './inbound-events.ts';

export interface ReadingOptions extends Context {
  readonly client: Pick<TelegramClient, 'answerPress'>;
  readonly callTimeoutMs: number;
  /** A group became a supergroup and has a new id. */
  readonly migrated: (from: string, to: string) => void;
}

/** After the commit; a button that goes on waiting for a minute is all that a failure costs. */
export async function answerPresses(updates: readonly Update[], options: ReadingOptions): Promise<void> {
  const { client, clock, signal, logger } = options;
  await Promise.all(
    updates.map(async ({ callback_query: press }) => {
      if (!press) return;
      try {
        await withDeadline({ clock, ms: options.callTimeoutMs, signal }, (inner) => client.answerPress(press.id, inner));
      } catch (error) {
        logger.debug('telegram.press-not-answered', { detail: errorText(error) });
      }
    }),
  );
}

/** The messages that updates bring; one that cannot be read is a message with a refusal. */
export function readUpdates(
  updates: readonly Update[],
  context: InboundContext,
  options: ReadingOptions,
): readonly InboundMessage[] {
  const batch: { update: Update; message: InboundMessage }[] = [];
  for (const update of updates) {
    try {
      const migration = migrationOf(update);
      if (migration) options.migrated(migration.from, migration.to);
      const now = options.clock.now();
      const message = toInbound(update, context) ?? pressOf(update, { ...context, now }) ?? reactionOf(update, context);
      if (message) batch.push({ update, message });
      else options.logger.debug('telegram.update-ignored', { update: update.update_id });
    } catch (error) {
      // One message that cannot be read must not stop those behind it.
      options.logger.error('telegram.update-unreadable', { update: update.update_id, error: errorText(error) });
      batch.push({ update, message: unreadable(update, context, options.clock.now()) });
    }
  }
  return joinAlbums(batch);
}
