import { join } from 'node:path';
import { isAwaited } from '../../core/awaited.ts';
import { targetOf } from '../../core/run.ts';
import { STOPPED_MARK } from '../../delivery/answer-place.ts';
import { inPlaceOfDraft } from '../../delivery/drafts.ts';
import { pruneAttachments } from '../../media/attachments.ts';
import { withTools } from '../../runs/end-texts.ts';
import { asJobFailure } from '../../runs/job-end.ts';
import type { PlanAnswer } from './delivery.ts';
import type { GatewayParts } from './gateway.ts';
import type { Base } from './options.ts';

const HOUR_MS = 3_600_000;

/** Takes up what earlier processes left. Before any channel starts. */
export async function recover(base: Base, { gateway, gate }: GatewayParts, parts: PlanAnswer): Promise<void> {
  const { options, journal, channels } = base;
  const { config, clock, logger } = options;
  const recovery = await journal.recover(
    {
      maxAttempts: config.gateway.max_attempts,
      maxAgeMs: config.gateway.max_message_age_hours * HOUR_MS,
      stoppedMark: STOPPED_MARK,
    },
    (row, reason, tools) => {
      const target = targetOf(row);
      if (!target) return [];
      const notice = parts(
        target,
        withTools(isAwaited(row) ? givenUpText(reason) : asJobFailure(row, givenUpJobText(reason)), tools),
        [],
      );
      return channels.channels.get(target.channel)?.edit ? inPlaceOfDraft(target.id, notice) : notice;
    },
  );
  const { resumed, buried, expired, unheard, sending } = recovery;
  if (resumed + buried + expired + unheard.length + sending.length > 0) {
    logger.info('recovered', { resumed, buried, expired, unheard: unheard.length, sending: sending.length });
  }
  await gate.forget(unheard);
  await pruneAttachments(join(options.dataDir, 'outgoing'), clock.now(), () => journal.filesInUse());
  await gateway.recover(recovery);
}

function givenUpText(reason: string): string {
  return `⚠️ I could not answer your message: ${reason} (GH2002). It is kept; its owner can run it again.`;
}

function givenUpJobText(reason: string): string {
  return `⚠️ It was given up: ${reason} (GH2002). It is kept; its owner can run it again.`;
}
