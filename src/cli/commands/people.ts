import { remainsFor } from '../../app/compose/store.ts';
import { GatehouseError } from '../../core/errors.ts';
import { principalOf } from '../../core/ids.ts';
import { clientOf } from '../../core/mcp-client.ts';
import type { PersonRef, ShutOut } from '../../core/people.ts';
import { STOPPED_MARK } from '../../delivery/answer-place.ts';
import { counted } from '../../lib/counted.ts';
import { printable } from '../../lib/printable.ts';
import type { Command, CommandContext } from '../context.ts';
import type { OpenJournal } from '../deps.ts';
import { EXIT } from '../exit-codes.ts';
import { formatRelative, isoTime } from '../format-time.ts';
import {
  channelsOf,
  gatewayOf,
  isTerminal,
  type KnownIn,
  type KnownPerson,
  knownPeople,
  letsAllIn,
  nearHint,
  personOf,
} from '../known-people.ts';
import { formatTable } from '../output.ts';
import { noJournal, openOrMake, withJournal } from '../read-journal.ts';

const BY = 'cli';

/** Whom the config and the journal know, and what decides about each. */
export const peopleList: Command<unknown> = async (context) => {
  const { deps, out } = context;
  const now = deps.clock.now();
  const gateway = await gatewayOf(context);
  const known = (await withJournal(context, (opened) => knownPeople(gateway, opened, now))) ?? [];
  const people = known.length > 0 ? known : await knownPeople(gateway, NO_JOURNAL, now);
  out.document({ people: people.map(toJson) });
  const open = (gateway?.channels ?? []).map(({ name, type }) => name ?? type).filter((name) => letsAllIn(gateway, name));
  if (people.length === 0) out.data('nobody is known');
  else {
    const rows = people.map(({ standing, isOwner, channel, senderId, name = '', since, lastSeen }) => {
      const times = [since, lastSeen].map((at) => (at === undefined ? '' : formatRelative(at, now)));
      return [isOwner && standing !== 'owner' ? `${standing}, owner` : standing, `${channel}:${senderId}`, name, ...times].map(
        printable,
      );
    });
    out.data(formatTable([['STATE', 'PERSON', 'NAME', 'SINCE', 'LAST SEEN'], ...rows]));
  }
  for (const name of open)
    out.say(`${out.mark('warn', 'stderr')} on ${printable(name)} everyone is let in: its allowed_senders has "*"`);
  return EXIT.ok;
};

const NO_JOURNAL = {
  people: { blocks: async () => [], seen: async () => new Map() },
  pairing: { list: async () => [] },
} satisfies KnownIn;

interface Named {
  /** `CHANNEL:ID`. */
  readonly person: string;
}

/** Takes back that a person was paired. */
export const peopleRevoke: Command<Named> = async (context, { person }) => {
  const who = personOf(person);
  const gateway = await gatewayOf(context);
  refuseTerminal(gateway, who);
  const now = context.deps.clock.now();
  const done = await withJournal(
    context,
    async (opened) => {
      const known = await knownPeople(gateway, opened, now);
      assertRevocable(who, known, letsAllIn(gateway, who.channel));
      return await shutOut(opened, { kind: 'shut-out', who, as: 'revoked', by: BY, stoppedMark: STOPPED_MARK });
    },
    { remains: remainsFor(context.deps) },
  );
  if (!done) throw unknown(who, []);
  return tell(context, who, 'revoked', done);
};

function refuseTerminal(gateway: Awaited<ReturnType<typeof gatewayOf>>, { channel }: PersonRef): void {
  if (!isTerminal(gateway, channel)) return;
  throw new GatehouseError('GH1001', 'the terminal of this machine cannot be closed to a person', {
    hint: 'it has no list of people: who can type there is the owner. To close it, take the channel out of the config',
  });
}

function assertRevocable(who: PersonRef, known: readonly KnownPerson[], isOpen: boolean): void {
  const principal = principalOf(who);
  const found = known.find((one) => principalOf(one) === principal);
  const block = { hint: `\`gatehouse people block ${printable(principal)}\` keeps them out whatever the config says` };
  if (found?.standing === 'blocked')
    throw new GatehouseError('GH1003', `${printable(principal)} is blocked already, which is stronger`, {
      hint: `there is nothing left to revoke; \`gatehouse people unblock ${printable(principal)}\` lifts the block`,
    });
  if (found?.standing === 'listed')
    throw new GatehouseError(
      'GH1008',
      `the config lets ${printable(principal)} in, so revoking a pairing would change nothing`,
      block,
    );
  if (isOpen)
    throw new GatehouseError('GH1008', `allowed_senders of ${printable(who.channel)} has "*": everyone is let in there`, block);
  if (found?.standing !== 'paired' && found?.standing !== 'denied') throw unknown(who, known);
}

function unknown(who: PersonRef, known: readonly PersonRef[]): GatehouseError {
  return new GatehouseError('GH1003', `nobody was paired as ${printable(principalOf(who))}`, { hint: nearHint(who, known) });
}

export interface BlockOptions extends Named {
  readonly reason?: string;
}

/**
 * Refuses a person whatever the config says, also one who never wrote; a whole group by its id; and a client
 * of `mcp_clients`, as `mcp:NAME`.
 */
export const peopleBlock: Command<BlockOptions> = async (context, { person, reason }) => {
  const { deps, out } = context;
  const who = personOf(person);
  const gateway = await gatewayOf(context);
  refuseTerminal(gateway, who);
  await using opened = await openOrMake(context, { remains: remainsFor(deps) });
  const known = await knownPeople(gateway, opened, deps.clock.now());
  const channels = channelsOf(gateway, known);
  if (!channels.includes(who.channel) && clientOf(principalOf(who)) === undefined)
    throw new GatehouseError('GH1003', `there is no channel ${printable(who.channel)}`, {
      hint: `known: ${channels.join(', ')}`,
    });
  const found = known.find((one) => principalOf(one) === principalOf(who));
  const block = { kind: 'shut-out', who, as: 'blocked', by: BY, stoppedMark: STOPPED_MARK } as const;
  const done = await shutOut(opened, { ...block, ...(reason === undefined ? {} : { reason }) });
  const warn = out.mark('warn', 'stderr');
  if (await isGroup(context, gateway, who))
    out.say('→ it is a group: nothing said in it is taken up any more; its people can still write in other chats');
  else if (!found) out.say(`${warn} ${printable(principalOf(who))} was not known here; ${nearHint(who, known)}`);
  if (found?.isOwner) out.say(`${warn} the config names them as the owner: take them out of gateway.owner too`);
  return tell(context, who, 'blocked', done);
};

/** By the form of the id, on platforms where that tells. */
async function isGroup(
  { deps }: CommandContext,
  gateway: Awaited<ReturnType<typeof gatewayOf>>,
  who: PersonRef,
): Promise<boolean> {
  const channel = gateway?.channels.find(({ name, type }) => (name ?? type) === who.channel);
  return channel !== undefined && ((await deps.groupIds?.(channel.type))?.test(who.senderId) ?? false);
}

export const peopleUnblock: Command<Named> = async (context, { person }) => {
  const { out } = context;
  const who = personOf(person);
  const principal = principalOf(who);
  const done = await withJournal(context, async ({ journal, people }) => {
    const blocks = await people.blocks();
    if (!blocks.some((one) => principalOf(one) === principal))
      throw new GatehouseError('GH1003', `${printable(principal)} is not blocked`, { hint: nearHint(who, blocks) });
    await journal.commit([{ kind: 'unblock', who, by: BY }]);
    return true;
  });
  if (!done) throw noJournal(context);
  out.document({ person: principal, state: 'unblocked' });
  out.data(`${out.mark('ok')} ${printable(principal)} is blocked no more`);
  out.say('→ the config decides about them again; who is not in it writes again and gets a code');
  return EXIT.ok;
};

/** What the commit ended, as its own entry in the record says. */
async function shutOut({ journal, people }: OpenJournal, write: ShutOut): Promise<Readonly<Record<string, unknown>>> {
  await journal.commit([write]);
  return (await people.audit({ subject: principalOf(write.who) })).at(-1)?.data ?? {};
}

const ENDED: readonly (readonly [key: string, noun: string, verb: string])[] = [
  ['runs', 'request', 'cancelled'],
  ['questions', 'question', 'withdrawn'],
  ['jobs', 'job', 'disabled'],
  ['parts', 'message', 'not sent any more'],
  ['grants', 'approval', 'gone'],
  ['links', 'link', 'gone'],
];

function tell(
  { out }: CommandContext,
  who: PersonRef,
  state: 'revoked' | 'blocked',
  ended: Readonly<Record<string, unknown>>,
): number {
  const principal = principalOf(who);
  const told = ENDED.flatMap(([key, noun, verb]) => (ended[key] ? [`${counted(Number(ended[key]), noun)} ${verb}`] : []));
  const what = state === 'blocked' ? 'is blocked' : 'is not let in any more';
  out.document({ person: principal, state, ended });
  out.data(`${out.mark('ok')} ${printable(principal)} ${what}${told.length === 0 ? '' : `: ${told.join(', ')}`}`);
  return EXIT.ok;
}

function toJson({ since, lastSeen, ...person }: KnownPerson): Record<string, unknown> {
  return {
    person: principalOf(person),
    ...person,
    since: since === undefined ? null : isoTime(since),
    lastSeen: lastSeen === undefined ? null : isoTime(lastSeen),
  };
}
