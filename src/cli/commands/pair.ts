import { GatehouseError } from '../../core/errors.ts';
import { principalOf } from '../../core/ids.ts';
import type { PairingRequest } from '../../core/pairing.ts';
import type { PersonRef } from '../../core/people.ts';
import { printable } from '../../lib/printable.ts';
import { letInParts } from '../../operator/pairing-text.ts';
import type { Command, CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { formatRelative, isoTime } from '../format-time.ts';
import { nearHint, personOf } from '../known-people.ts';
import { type Failure, formatTable } from '../output.ts';
import { openOrMake, withJournal } from '../read-journal.ts';

/** From so many requests on one that is expected may not get through: as many codes are told in a minute. */
const MANY = 10;

/** People who asked to be let in, and what was decided. Codes are stored hashed and cannot be listed. */
export const pairList: Command<unknown> = async (context) => {
  const { deps, out } = context;
  const now = deps.clock.now();
  const { requests, until } = (await withJournal(context, async ({ pairing }) => ({
    requests: await pairing.list(now),
    until: await pairing.expectsUntil(now),
  }))) ?? { requests: [], until: undefined };
  out.document({ requests: requests.map(toJson), ...(until === undefined ? {} : { expectsUntil: isoTime(until) }) });
  if (until !== undefined)
    out.say(`a word of \`gatehouse pair expect\` holds, and ends ${formatRelative(until, now)}; a new one takes its place`);
  if (requests.length === 0) {
    out.data('no one has asked to be let in');
    return EXIT.ok;
  }
  const rows = requests.map((request) => {
    const expiry = request.state === 'pending' ? formatRelative(request.expiresAt, now) : '';
    const asked = formatRelative(request.createdAt, now);
    return [request.state, request.channel, request.senderId, request.senderName, asked, expiry].map(printable);
  });
  out.data(formatTable([['STATE', 'CHANNEL', 'SENDER', 'NAME', 'ASKED', 'EXPIRES'], ...rows]));
  if (requests.some((request) => request.state === 'pending'))
    out.say('→ gatehouse pair approve CODE   (the code they were sent), or --sender CHANNEL:ID');
  if (requests.filter((request) => request.state === 'pending').length >= MANY)
    out.say('→ gatehouse pair expect   (a word with which a person you expect gets a code, however many others ask)');
  return EXIT.ok;
};

/** A word for people who are expected. It lets no one in: they get a code, which is approved as ever. */
export const pairExpect: Command<unknown> = async (context) => {
  const { deps, out } = context;
  const now = deps.clock.now();
  await using open = await openOrMake(context);
  const { word, expiresAt } = await open.pairing.expect(now);
  out.document({ word, expiresAt: isoTime(expiresAt) });
  out.data(word);
  out.say(`Give it to the person you expect, in private: who writes it to the agent in a private chat within 7 days gets a code,
however many strangers ask. A word that you made before holds no more. Then: gatehouse pair approve CODE`);
  return EXIT.ok;
};

/** One of the two. */
export interface DecideOptions {
  readonly code?: string;
  /** `CHANNEL:ID`. */
  readonly sender?: string;
}

export const pairApprove: Command<DecideOptions> = (context, options) => decide(context, options, 'approve');

export const pairDeny: Command<DecideOptions> = (context, options) => decide(context, options, 'deny');

async function decide(context: CommandContext, options: DecideOptions, verb: 'approve' | 'deny'): Promise<number> {
  const { deps, out } = context;
  const which = whichOf(options);
  const now = deps.clock.now();
  const tell = verb === 'approve' ? { tell: (request: PairingRequest) => letInParts(request, now) } : {};
  const request = await withJournal(context, ({ pairing }) => pairing[verb](which, now, tell));
  if (!request) {
    out.fail(await noRequest(context, which));
    return EXIT.failed;
  }
  const who = printable(`${request.senderName} (${request.senderId}) on ${request.channel}`);
  out.data(`${out.mark('ok')} ${who} ${verb === 'approve' ? 'may talk to the agent now' : 'is turned away'}`);
  out.document({ request: toJson(request) });
  return EXIT.ok;
}

function whichOf({ code, sender }: DecideOptions): string | PersonRef {
  if (code !== undefined && sender === undefined) return code.trim();
  if (code === undefined && sender !== undefined) return personOf(sender);
  throw new GatehouseError('GH1001', 'name the code, or the person with --sender', {
    hint: 'one of the two, such as 7GQ2MX4K, or --sender telegram:42',
  });
}

async function noRequest(context: CommandContext, which: string | PersonRef): Promise<Failure> {
  if (typeof which === 'string') {
    const message = 'no pending request has this code (it may have expired, or too many wrong codes were tried this hour)';
    return { code: 'GH1003', message, hint: 'see `gatehouse pair list`; a new message to the bot gets a new code' };
  }
  const principal = principalOf(which);
  const blocks = (await withJournal(context, ({ people }) => people.blocks())) ?? [];
  const message = `no request of ${printable(principal)} waits`;
  if (blocks.some((one) => principalOf(one) === principal))
    return { code: 'GH1003', message, hint: `they are blocked: \`gatehouse people unblock ${printable(principal)}\` first` };
  const asked = (await withJournal(context, ({ pairing }) => pairing.list(context.deps.clock.now()))) ?? [];
  return { code: 'GH1003', message, hint: nearHint(which, asked) };
}

function toJson({ createdAt, expiresAt, chatId: _, ...request }: PairingRequest): Record<string, unknown> {
  return { ...request, createdAt: isoTime(createdAt), expiresAt: isoTime(expiresAt) };
}
