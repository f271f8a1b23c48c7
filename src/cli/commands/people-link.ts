import { GatehouseError } from '../../core/errors.ts';
import { principalOf } from '../../core/ids.ts';
import type { PersonRef } from '../../core/people.ts';
import { printable } from '../../lib/printable.ts';
import type { Command } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { channelsOf, gatewayOf, type KnownPerson, knownPeople, nearHint, personOf } from '../known-people.ts';
import { noJournal, openOrMake, withJournal } from '../read-journal.ts';

const BY = 'cli';

interface TwoPeople {
  readonly person: string;
  readonly other: string;
}

/** Two ids are one person from now on, and so are all that were linked with either. */
export const peopleLink: Command<TwoPeople> = async (context, { person, other }) => {
  const { deps, out } = context;
  const [a, b] = [personOf(person), personOf(other)];
  const names = [a, b].map((who) => printable(principalOf(who)));
  if (principalOf(a) === principalOf(b)) throw new GatehouseError('GH1001', 'that is one id twice', { hint: 'name two ids' });
  const gateway = await gatewayOf(context);
  await using opened = await openOrMake(context);
  const known = await knownPeople(gateway, opened, deps.clock.now());
  for (const who of [a, b]) mustBeKnown(who, known, channelsOf(gateway, known));
  await opened.journal.commit([{ kind: 'link', of: [endOf(a, known), endOf(b, known)], by: BY }]);
  const ids = (await opened.people.idsOf(a)).map(principalOf);
  out.document({ person: principalOf(a), ids });
  out.data(`${out.mark('ok')} ${names.join(' and ')} are one person${ids.length > 2 ? `, with ${ids.length - 2} more ids` : ''}`);
  out.say('→ they share limits of spending, export, erase, and being written to by name; no history, and no role');
  return EXIT.ok;
};

/** An id that is not known is most likely mistyped, and would wait for a stranger. */
function mustBeKnown(who: PersonRef, known: readonly KnownPerson[], channels: readonly string[]): void {
  if (known.some((one) => principalOf(one) === principalOf(who))) return;
  const what = channels.includes(who.channel)
    ? `${printable(principalOf(who))} is not known`
    : `there is no channel ${printable(who.channel)}`;
  throw new GatehouseError('GH1003', what, { hint: nearHint(who, known) });
}

function endOf(who: PersonRef, known: readonly KnownPerson[]): PersonRef & { readonly name: string } {
  return { ...who, name: known.find((one) => principalOf(one) === principalOf(who))?.name ?? '' };
}

export const peopleUnlink: Command<{ readonly person: string }> = async (context, { person }) => {
  const { out } = context;
  const who = personOf(person);
  const principal = principalOf(who);
  const done = await withJournal(context, async ({ journal, people }) => {
    const links = await people.links();
    if (!links.some((one) => principalOf(one) === principal))
      throw new GatehouseError('GH1003', `${printable(principal)} is linked with no other id`, { hint: nearHint(who, links) });
    await journal.commit([{ kind: 'unlink', who, by: BY }]);
    return true;
  });
  if (!done) throw noJournal(context);
  out.document({ person: principal, state: 'unlinked' });
  out.data(`${out.mark('ok')} ${printable(principal)} is a person of their own`);
  return EXIT.ok;
};
