import type { PairingRequest } from '../../core/pairing.ts';
import { printable } from '../../lib/printable.ts';
import type { Command } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { formatRelative, isoTime } from '../format-time.ts';
import { formatTable } from '../output.ts';
import { withJournal } from '../read-journal.ts';

/** People who asked to be let in, and what was decided. Codes are stored hashed and cannot be listed. */
export const pairList: Command<unknown> = async (context) => {
  const { deps, out } = context;
  const now = deps.clock.now();
  const requests = (await withJournal(context, ({ pairing }) => pairing.list(now))) ?? [];
  out.document({ requests: requests.map(toJson) });
  if (requests.length === 0) {
    out.data('nobody asked to be let in');
    return EXIT.ok;
  }
  const rows = requests.map((request) => {
    const expiry = request.state === 'pending' ? formatRelative(request.expiresAt, now) : '';
    const asked = formatRelative(request.createdAt, now);
    return [request.state, request.channel, request.senderId, request.senderName, asked, expiry].map(printable);
  });
  out.data(formatTable([['STATE', 'CHANNEL', 'SENDER', 'NAME', 'ASKED', 'EXPIRES'], ...rows]));
  if (requests.some((request) => request.state === 'pending'))
    out.say('→ gatehouse pair approve CODE   (the code they were sent)');
  return EXIT.ok;
};

export const pairApprove: Command<{ readonly code: string }> = (context, { code }) => decide(context, code, 'approve');

export const pairDeny: Command<{ readonly code: string }> = (context, { code }) => decide(context, code, 'deny');

async function decide(context: Parameters<Command<unknown>>[0], code: string, verb: 'approve' | 'deny'): Promise<number> {
  const { deps, out } = context;
  const request = await withJournal(context, ({ pairing }) => pairing[verb](code.trim(), deps.clock.now()));
  if (!request) {
    const message = 'no pending request has this code (it may have expired, or too many wrong codes were tried this hour)';
    out.fail({ code: 'GH1003', message, hint: 'see `gatehouse pair list`; a new message to the bot gets a new code' });
    return EXIT.failed;
  }
  const who = printable(`${request.senderName} (${request.senderId}) on ${request.channel}`);
  out.data(`${out.mark('ok')} ${who} ${verb === 'approve' ? 'may talk to the agent now' : 'is turned away'}`);
  out.document({ request: toJson(request) });
  return EXIT.ok;
}

function toJson({ createdAt, expiresAt, ...request }: PairingRequest): Record<string, unknown> {
  return { ...request, createdAt: isoTime(createdAt), expiresAt: isoTime(expiresAt) };
}
