// Two accounts become one person by a code, through the whole daemon: everything real but the platforms and
// the model.
import { expect, test } from 'vitest';
import type { InboundMessage } from '../core/message.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { type PeopleRig, peopleRig } from '../testing/people-rig.ts';
import type { ScriptFunction } from '../testing/scripted-model.ts';

const ENTRY = { allowed_senders: ['ada', 'ada@example.org', 'boss', 'boss-mail', 'eve', 'ada2'], allowed_groups: ['*'] };
const OWNER = [{ channel: 'test', chat_id: 'boss', sender_ids: ['boss'] }];
const ADA: Partial<InboundMessage> = { senderId: 'ada', senderName: 'Ada', chatId: 'chat of ada' };
const MAIL: Partial<InboundMessage> = { senderId: 'ada@example.org', senderName: 'Ada Mail', chatId: 'mail of ada' };
const EVE: Partial<InboundMessage> = { senderId: 'eve', senderName: 'Eve', chatId: 'chat of eve' };

const codeIn = (text: string): string => /\/link ([A-Z0-9]{6})/.exec(text)?.[1] ?? '';
const idsOf = (at: PeopleRig) => at.rows<{ principal: string; id: string }>('SELECT principal, id FROM person ORDER BY 1');

async function rig(dir: string, more: Partial<Parameters<typeof peopleRig>[0]> = {}): Promise<PeopleRig> {
  return await peopleRig({ dir, entry: ENTRY, gateway: { owner: OWNER }, ...more });
}

test('a code shown on one account and typed on the other links them; both are told, and either takes it back', async () => {
  await using dir = await tempDir();
  await using at = await rig(dir.path);
  const shown = await at.ask('test', { ...ADA, text: '/link' });
  expect(shown).toMatch(/within ten minutes: `\/link [A-Z0-9]{6}`/);
  const answer = await at.ask('chat', { ...MAIL, text: `/link ${codeIn(shown)}` });
  expect(answer).toContain('linked with Ada (test:ada)');
  await until('the first account is told', () => at.channels.test.texts('chat of ada').length === 2);
  expect(at.channels.test.texts('chat of ada')[1]).toMatch(/^This account was linked with Ada Mail \(chat:ada@example\.org\)/);
  expect(idsOf(at)).toEqual([
    { principal: 'chat:ada@example.org', id: 'test:ada' },
    { principal: 'test:ada', id: 'test:ada' },
  ]);
  expect((await at.cli('people', 'audit', '--json')).stdout).toContain('person.linked');
  expect(await at.ask('test', { ...ADA, text: '/unlink' })).toContain('linked with no other any more');
  expect(idsOf(at)).toEqual([]);
});

test('a code works once, for ten minutes, and only the newest of an account', async () => {
  await using dir = await tempDir();
  await using at = await rig(dir.path);
  const first = codeIn(await at.ask('test', { ...ADA, text: '/link' }));
  const code = codeIn(await at.ask('test', { ...ADA, text: '/link' }));
  expect(await at.ask('chat', { ...MAIL, text: `/link ${first}` })).toContain('not valid');
  expect(await at.ask('test', { ...ADA, text: `/link ${code}` })).toContain('from your other account');
  expect(await at.ask('chat', { ...MAIL, text: `/link ${code.toLowerCase()}` })).toContain('is linked with');
  expect(await at.ask('chat', { ...EVE, text: `/link ${code}` })).toContain('not valid');
  // What is left of a code in the journal is none.
  await at.settled();
  expect(at.rows<{ part: string }>('SELECT part FROM outbox').filter(({ part }) => part.includes(`link ${code}`))).toEqual([]);
});

test('wrong codes are counted: after five an account may try none for an hour, and others may', async () => {
  await using dir = await tempDir();
  await using at = await rig(dir.path);
  const code = codeIn(await at.ask('test', { ...ADA, text: '/link' }));
  for (let n = 0; n < 5; n += 1) expect(await at.ask('chat', { ...EVE, text: `/link AAAAA${n + 2}` })).toContain('not valid');
  expect(await at.ask('chat', { ...EVE, text: `/link ${code}` })).toContain('Too many wrong codes');
  expect(await at.ask('chat', { ...MAIL, text: `/link ${code}` })).toContain('is linked with');
});

test('links of two owners: no code joins an owner with a person who is none, and the command line does', async () => {
  await using dir = await tempDir();
  await using at = await rig(dir.path);
  const code = codeIn(await at.ask('chat', { ...EVE, text: '/link' }));
  expect(await at.ask('test', { senderId: 'boss', senderName: 'Boss', chatId: 'boss', text: `/link ${code}` })).toContain(
    'One of these accounts is the owner’s',
  );
  expect(idsOf(at)).toEqual([]);
  expect((await at.cli('people', 'link', 'test:boss', 'chat:eve')).code).toBe(0);
  // What was linked so joins no further person by a code.
  const again = codeIn(await at.ask('mail', { ...ADA, text: '/link' }));
  expect(await at.ask('chat', { ...EVE, text: `/link ${again}` })).toContain('One of these accounts is the owner’s');
  // The link raised no role.
  expect(await at.ask('chat', { ...EVE, text: '/why' })).not.toContain('gateway.');
});

test('a link is refused in a group, to a guest, and to an account that is blocked since it asked', async () => {
  await using dir = await tempDir();
  await using at = await peopleRig({ dir: dir.path, entry: { allowed_senders: ['*', 'ada'], allowed_groups: ['*'] } });
  const group = { ...ADA, chatId: 'group', isGroup: true, mentionsBot: true };
  expect(await at.ask('test', { ...group, text: '/link' })).toContain('private chat');
  expect(await at.ask('test', { ...EVE, text: '/link' })).toContain('not certain who writes there');
  const code = codeIn(await at.ask('test', { ...ADA, text: '/link' }));
  expect((await at.cli('people', 'block', 'test:ada')).code).toBe(0);
  expect(await at.ask('chat', { ...ADA, text: `/link ${code}` })).toContain('not valid');
});

test('revoke and block of one id end its links, and the others stay one person', async () => {
  await using dir = await tempDir();
  await using at = await rig(dir.path);
  for (const [type, message] of [
    ['test', ADA],
    ['chat', MAIL],
    ['mail', EVE],
  ] as const)
    await at.ask(type, { ...message, text: 'hi' });
  await at.cli('people', 'link', 'test:ada', 'chat:ada@example.org');
  await at.cli('people', 'link', 'mail:eve', 'chat:ada@example.org');
  expect(idsOf(at).map(({ id }) => id)).toEqual(['test:ada', 'test:ada', 'test:ada']);
  expect(JSON.parse((await at.cli('people', 'block', 'test:ada', '--json')).stdout)).toMatchObject({ ended: { links: 2 } });
  expect(idsOf(at)).toEqual([
    { principal: 'chat:ada@example.org', id: 'chat:ada@example.org' },
    { principal: 'mail:eve', id: 'chat:ada@example.org' },
  ]);
  expect((await at.cli('people', 'unlink', 'mail:eve')).code).toBe(0);
  expect(idsOf(at)).toEqual([]);
  expect((await at.cli('people', 'unlink', 'mail:eve')).stderr).toContain('GH1003');
  expect((await at.cli('people', 'link', 'test:ada', 'test:ada')).stderr).toContain('GH1001');
  expect((await at.cli('people', 'link', 'test:adaa', 'test:ada')).stderr).toMatch(/GH1003.*\n.*test:ada/);
});

test('/forget me asks the owner: a no is told, a yes erases all linked accounts, and the person is told', async () => {
  await using dir = await tempDir();
  await using at = await rig(dir.path);
  await at.ask('test', { ...ADA, text: 'CANARYONE' });
  await at.ask('chat', { ...MAIL, text: 'CANARYTWO' });
  await at.cli('people', 'link', 'test:ada', 'chat:ada@example.org');
  const asked = async (): Promise<string> => {
    const before = at.channels.test.texts('boss').length;
    const told = at.channels.test.texts('chat of ada').length;
    await at.channels.test.deliver({ ...ADA, text: '/forget me' });
    await until('she is told so', () => at.channels.test.texts('chat of ada').length > told);
    await until('the owner is asked', () => at.channels.test.texts('boss').length > before);
    return /\/allow ([A-Z2-9]{6})/.exec(at.channels.test.texts('boss').at(-1) ?? '')?.[1] ?? '';
  };
  const first = await asked();
  expect(at.channels.test.texts('boss').at(-1)).toContain('May all that is kept of Ada (test:ada) be erased');
  expect(await at.ask('test', { ...ADA, text: '/forget me' })).toContain('asked already');
  await at.channels.test.deliver({ senderId: 'boss', chatId: 'boss', text: `/deny ${first}` });
  await until('she is told', () => at.channels.test.texts('chat of ada').at(-1)?.includes('did not agree'));
  const second = await asked();
  await at.channels.test.deliver({ senderId: 'boss', chatId: 'boss', text: `/allow ${second}` });
  await until('she is told', () => at.channels.test.texts('chat of ada').at(-1)?.includes('The owner agreed'));
  await until('it is done', () => at.rows("SELECT 1 FROM audit WHERE kind = 'person.erased'").length === 1);
  await until('nothing is left to do', () => at.rows("SELECT 1 FROM meta WHERE name LIKE 'erasure %'").length === 0);
  const left = JSON.stringify([at.rows('SELECT input FROM run'), at.rows('SELECT part FROM outbox')]);
  expect(left).not.toMatch(/CANARY(?:ONE|TWO)/);
  expect(at.rows('SELECT 1 FROM person')).toEqual([]);
  expect(await at.cli('people', 'audit', '--verify')).toMatchObject({ code: 0 });
});

/** Calls `message` with the JSON behind the word "say", and answers with what came of it. */
const speaker: ScriptFunction = ({ messages }) => {
  const last = messages.at(-1);
  if (last?.role === 'tool') return `came of it: ${last.content}`;
  const [, asked] = /say (\{.*\})/s.exec(String(last?.content)) ?? [];
  return asked === undefined ? 'echo' : { text: '', toolCalls: [{ name: 'message', arguments: JSON.parse(asked) }] };
};
const say = (args: object): string => `say ${JSON.stringify({ content: 'lunch at one', ...args })}`;
const BOSS: Partial<InboundMessage> = { senderId: 'boss', senderName: 'Boss', chatId: 'boss' };
const FULL = { policy: { mode: 'full', members: ['message'], senders: { 'test:ada': { mode: 'full' } } }, script: speaker };

test('the owner names a person, and words go to the account of theirs that was used last, or to that on the channel that is named', async () => {
  await using dir = await tempDir();
  await using at = await rig(dir.path, FULL);
  await at.ask('mail', { ...ADA, senderName: 'Ada' });
  await at.ask('chat', { ...MAIL, senderName: 'A. Lovelace' });
  await at.cli('people', 'link', 'mail:ada', 'chat:ada@example.org');
  await until('the daemon knows', async () =>
    (await at.ask('test', { ...BOSS, text: say({ chat_id: 'Ada', channel: 'chat' }) })).includes('On its way'),
  );
  expect(at.channels.chat.texts('mail of ada').at(-1)).toBe('On behalf of Boss (test:boss):\n\nlunch at one');
  expect(await at.ask('test', { ...BOSS, text: say({ chat_id: 'ada' }) })).toMatch(/On its way to (?:Ada|A\. Lovelace)/);
  // Another person of that name, on whichever channel.
  await at.ask('chat', { ...EVE, senderName: 'ADA' });
  expect(await at.ask('test', { ...BOSS, text: say({ chat_id: 'Ada' }) })).toMatch(
    /"Ada" on test is the name of several people: name one by the id, .*\(chat:eve\)/,
  );
  // To a member names tell nothing.
  expect(await at.ask('chat', { ...EVE, text: say({ chat_id: 'A. Lovelace', channel: 'chat' }) })).toContain(
    'no person has written',
  );
});

test('a channel alone names the account there of the person who asks', async () => {
  await using dir = await tempDir();
  await using at = await rig(dir.path, FULL);
  await at.ask('mail', { ...ADA });
  const code = codeIn(await at.ask('test', { ...ADA, text: '/link' }));
  expect(await at.ask('test', { ...ADA, text: say({ channel: 'mail' }) })).toContain('linked with no account on mail');
  await at.ask('mail', { ...ADA, text: `/link ${code}` });
  expect(await at.ask('test', { ...ADA, text: say({ channel: 'mail' }) })).toContain('On its way');
  await until('it arrived', () => at.channels.mail.texts('chat of ada').at(-1)?.endsWith('lunch at one'));
});

test('what is sent into another chat is a line of its session, with whose wish it was and what it had read, once', async () => {
  await using dir = await tempDir();
  await using at = await rig(dir.path, FULL);
  await at.ask('mail', { ...ADA, text: 'hi' });
  await at.ask('test', { ...BOSS, text: say({ chat_id: 'ada', channel: 'mail' }) });
  await at.settled();
  const sessions = [...at.model.requests];
  await at.ask('mail', { ...ADA, text: 'what did you say?' });
  const told = at.model.requests.slice(sessions.length)[0]?.messages.slice(1);
  expect(told?.map(({ role, content, taint }) => [role, content, taint ?? 0])).toEqual([
    ['user', 'hi', 0],
    ['assistant', 'echo', 0],
    ['assistant', 'On behalf of Boss (test:boss):\n\nlunch at one', 1],
    ['user', 'what did you say?', 0],
  ]);
  // What Boss said there is theirs, also in the session of another.
  expect((await at.cli('people', 'erase', 'test:boss', '--yes')).code).toBe(0);
  await at.ask('mail', { ...ADA, text: 'and now?' });
  expect(JSON.stringify(at.model.requests.at(-1)?.messages)).not.toContain('lunch at one');
});

test('linked accounts share the limit of a sender', async () => {
  const { Budget } = await import('../llm/money/budget.ts');
  const { FakeClock } = await import('../testing/fakes.ts');
  const ledger = { spending: async () => [] };
  let links: readonly string[] = [];
  const linked = (sender: string): readonly string[] => (links.includes(sender) ? links : [sender]);
  const budget = await Budget.open(ledger, { senderUsd: 1 }, { clock: new FakeClock(), linked });
  const of = (sender: string) => ({ session: sender, channel: 'test', sender, purpose: 'chat' }) as const;
  const first = budget.reserve(of('a'), 0.7);
  if (first.kind === 'reserved') first.settle(0.7);
  expect(budget.reserve(of('b'), 0.7)).toMatchObject({ kind: 'reserved' });
  links = ['a', 'b'];
  expect(budget.reserve(of('b'), 0.2)).toMatchObject({ kind: 'refused', key: 'sender:a', spentUsd: 0.7, reservedUsd: 0.7 });
  links = [];
  expect(budget.reserve(of('b'), 0.2)).toMatchObject({ kind: 'reserved' });
});
