import { join } from 'node:path';
import { isAwaited } from '../../core/awaited.ts';
import { type RunRow, targetOf } from '../../core/run.ts';
import { STOPPED_MARK } from '../../delivery/answer-place.ts';
import { inPlaceOfDraft } from '../../delivery/drafts.ts';
import type { BuryNotice } from '../../journal/recovery.ts';
import { pruneAttachments } from '../../media/attachments.ts';
import { withTools } from '../../runs/end-texts.ts';
import { endOf } from '../../runs/job-end.ts';
import { endParts } from '../../runs/task-run.ts';
import type { PlanAnswer } from './delivery.ts';
import type { GatewayParts } from './gateway.ts';
import type { Base } from './options.ts';
import { notifiedIn } from './tasks.ts';

const HOUR_MS = 3_600_000;

/** Takes up what earlier processes left. Before any channel starts. */
export async function recover(base: Base, { gateway, gate }: GatewayParts, parts: PlanAnswer): Promise<void> {
  const { options, journal } = base;
  const { config, clock, logger } = options;
  const recovery = await journal.recover(
    {
      maxAttempts: config.gateway.max_attempts,
      maxAgeMs: config.gateway.max_message_age_hours * HOUR_MS,
      stoppedMark: STOPPED_MARK,
    },
    givenUpIn(base, parts),
  );
  const { resumed, buried, expired, unheard, sending } = recovery;
  if (resumed + buried + expired + unheard.length + sending.length > 0) {
    logger.info('recovered', { resumed, buried, expired, unheard: unheard.length, sending: sending.length });
  }
  await gate.forget(unheard);
  await pruneAttachments(join(options.dataDir, 'outgoing'), clock.now(), () => journal.filesInUse());
  await gateway.recover(recovery);
}

/** What is given up is told as any other failure of its kind. */
function givenUpIn(base: Base, parts: PlanAnswer): BuryNotice {
  return (row, reason, tools) => {
    const target = targetOf(row);
    if (!target) return [];
    const text = withTools(givenUpText(row, reason), tools);
    const end = endOf(row, { state: 'DEAD', outcome: 'failed:GH2002', text });
    if (row.profile === 'task') return endParts(row, end, { parts, ...notifiedIn(base) });
    if (end.text === undefined) return [];
    const notice = parts(target, end.text, []);
    return base.channels.channels.get(target.channel)?.edit ? inPlaceOfDraft(target.id, notice) : notice;
  };
}

function givenUpText(row: RunRow, reason: string): string {
  const tells = !row.message && row.prompt.tells !== undefined;
  const asked = isAwaited(row) ? 'I could not answer your message' : 'It was given up';
  return `⚠️ ${tells ? 'More could not be said of it' : asked}: ${reason} (GH2002). It is kept; its owner can run it again.`;
}
