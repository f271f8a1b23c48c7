// Every way in which words of a person come to lie on the disk, over three linked accounts: each is exported,
// and none is found after an erasure that was killed in between, nor after the journal's own housekeeping.
import { spawnSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import type { InboundMessage } from '../core/message.ts';
import type { ModelRequest } from '../core/model.ts';
import { writtenBy } from '../lib/marks.ts';
import { filesBelow, filesHolding } from '../testing/bytes-on-disk.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { job, MEMBER, OWNER } from '../testing/jobs.ts';
import { type PeopleRig, peopleCli, peopleRig } from '../testing/people-rig.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const IDS = { test: '4242424242', chat: 'U0EVEEVE', mail: 'eve.canary@example.org' } as const;
const NAMES = { test: 'NAMETELEGRAM Eve', chat: 'NAMESLACK Eve', mail: 'NAMEMAIL Eve' } as const;
const GROUP = { chatId: 'group', isGroup: true, mentionsBot: true };
const eve = (type: keyof typeof IDS, more: Partial<InboundMessage>): Partial<InboundMessage> => ({
  ...{ senderId: IDS[type], senderName: NAMES[type], chatId: IDS[type] },
  ...more,
});
const ADA: Partial<InboundMessage> = { senderId: 'ada', senderName: 'Ada', chatId: 'ada' };
const CANARIES = new Set<string>(Object.values(NAMES).map((name) => name.split(' ')[0] ?? ''));
function canary(name: string): string {
  CANARIES.add(`CANARY${name}`);
  return `CANARY${name}`;
}

function script({ messages, context }: ModelRequest) {
  if (context.purpose === 'summary') return `They spoke: ${messages.at(-1)?.content.slice(-3_000)}`;
  const asked = messages.findLastIndex(({ role, id }) => role === 'user' && !id.endsWith('#note'));
  const words = String(messages[asked]?.content);
  if (words.includes('FAIL')) return { fail: 'bad-request' } as const;
  const calls = /CALL (\[.*\]) END/s.exec(words)?.[1];
  const results = messages.slice(asked).filter(({ role }) => role === 'tool');
  if (calls === undefined) return words.includes('QUIET') ? 'noted' : `echo ${words}`;
  if (results.length > 0) return `came: ${results.map(({ content }) => content).join(' | ')}`;
  return { text: '', toolCalls: JSON.parse(calls) as { name: string; arguments: Record<string, unknown> }[] };
}
const call = (...calls: readonly { readonly name: string; readonly arguments: object }[]): string =>
  `CALL ${JSON.stringify(calls)} END`;

async function fillGroup(at: PeopleRig): Promise<void> {
  const { chat, test: telegram } = at.channels;
  for (const channel of [chat, telegram]) {
    const type = channel === chat ? 'chat' : 'test';
    const X = type.toUpperCase();
    const say = (more: Partial<InboundMessage>) => at.ask(type, eve(type, { ...GROUP, ...more }));
    const ada = (more: Partial<InboundMessage>) => at.ask(type, { ...ADA, ...GROUP, ...more });
    channel.files.set(`f${X}`, Buffer.from(`${canary(`UPLOAD${X}`)} bytes`));
    await say({
      text: canary(`CAPTION${X}`),
      media: [{ kind: 'document', ref: `f${X}`, name: `${canary(`FILENAME${X}`)}.txt` }],
    });
    await say({ text: '', media: [{ kind: 'voice', ref: `f${X}`, name: `${canary(`VOICENAME${X}`)}.ogg` }] });
    await say({ platformId: `orig${X}`, text: canary(`BEFOREEDIT${X}`) });
    await say({ kind: 'edit', targetId: `orig${X}`, text: canary(`AFTEREDIT${X}`) });
    await channel.deliver(eve(type, { ...GROUP, kind: 'reaction', targetId: `orig${X}`, text: canary(`REACTION${X}`) }));
    await channel.deliver(eve(type, { ...GROUP, mentionsBot: false, text: canary(`ASIDE${X}`) }));
    await ada({ text: 'QUIET words of Ada' });
    await ada({ text: 'QUIET more', replyTo: { platformId: `orig${X}`, fromBot: false, text: canary(`AFTEREDIT${X}`) } });
    await ada({
      text: 'QUIET cut',
      replyTo: {
        platformId: 'else',
        fromBot: false,
        authorId: IDS[type],
        origin: writtenBy(NAMES[type]),
        text: canary(`CITED${X}`),
      },
    });
    const far = {
      platformId: 'far',
      fromBot: false,
      authorId: IDS[type],
      origin: 'quoted from another chat',
      text: `CANARYFAR${X}`,
    };
    await ada({ text: 'QUIET far', replyTo: far });
    await say({ text: 'QUIET what', replyTo: { platformId: 'zz', fromBot: false, text: canary(`SHECITES${X}`) } });
    await say({ text: `/remember ${canary(`ARGUMENT${X}`)}` });
    await say({ text: `/model ${canary(`MODELARG${X}`)}` });
    await say({ text: `/queue ${canary(`QUEUEARG${X}`)}` });
    await say({ text: `/new ${canary(`TOPICARG${X}`)}` });
    await say({ text: `/task QUIET ${canary(`TASKTITLE${X}`)}` });
    await say({ text: canary(`BUTTON${X}`), marks: [] });
    await say({ text: `FAIL ${canary(`DEAD${X}`)}` });
    channel.results.push({ kind: 'refused', reason: 'invalid', detail: `no ${canary(`REFUSEDPART${X}`)}` });
    await channel.deliver(eve(type, { ...GROUP, text: canary(`DEADPART${X}`) }));
    await at.rig.daemon.gateway.idle();
    // Of these no word is stored.
    await channel.deliver(eve(type, { ...GROUP, kind: 'delete', targetId: `orig${X}`, text: 'CANARYDELETED' }));
    await channel.deliver(eve(type, { ...GROUP, text: 'CANARYREFUSED', refusal: 'forged-sender' }));
    await say({ text: call({ name: 'dispatch_subagent', arguments: { task_description: `QUIET ${canary(`CHILD${X}`)}` } }) });
    // A thread of its own.
    await at.ask(type, eve(type, { ...GROUP, threadId: 't1', text: canary(`THREAD${X}`) }));
    await at.ask(type, { ...ADA, ...GROUP, threadId: 't1', text: 'words of Ada in a thread' });
  }
}

async function fillOwn(at: PeopleRig): Promise<void> {
  const { mail } = at.channels;
  mail.files.set('m', Buffer.from(`${canary('MAILFILE')} bytes`));
  const subject = `[Subject: ${canary('SUBJECT')}]\n`;
  await at.ask('mail', {
    ...eve('mail', { threadId: '<root.canary@example.org>' }),
    ...{ text: `${subject}${canary('MAILTEXT')}`, marks: [[0, subject.length]] },
    ...{ replyContext: { subject: 'CANARYSUBJECT', to: IDS.mail }, secondaryId: '<id.canary@example.org>' },
    media: [{ kind: 'document', ref: 'm', name: `${canary('MAILNAME')}.txt` }],
  });
  await at.channels.test.deliver(eve('test', { text: `/new ${canary('OWNTOPIC')}` }));
  await at.ask('test', eve('test', { text: canary('INTOPIC') }));
  const authority = { ...MEMBER, principal: `test:${IDS.test}` };
  const deliver = { channel: 'chat', chatId: 'group', isGroup: true };
  const theirs = job({
    ...{ id: 'abcd1234', name: canary('JOBNAME'), authority, schedule: { kind: 'at', at: Date.now() } },
    ...{ nextDue: Date.now(), payload: { text: canary('JOBTEXT'), profile: 'session', deliver } },
  });
  const other = job({
    ...{ id: 'abcd9999', name: 'of the owner', authority: OWNER, schedule: { kind: 'every', ms: 3_600_000, from: 0 } },
    payload: { text: 'tell her', profile: 'session', deliver: { channel: 'test', chatId: IDS.test } },
  });
  await at.rig.daemon.journal.commit([
    { kind: 'job', job: theirs },
    { kind: 'job', job: other },
  ]);
}

const link = async (at: PeopleRig): Promise<void> => {
  expect((await at.cli('people', 'link', `test:${IDS.test}`, `chat:${IDS.chat}`)).code).toBe(0);
  expect((await at.cli('people', 'link', `mail:${IDS.mail}`, `chat:${IDS.chat}`)).code).toBe(0);
};
const ENTRY = { allowed_senders: [...Object.values(IDS), 'ada', 'ben'], allowed_groups: ['*'] };

/** What the housekeeping of a week takes. */
const AGE = [
  "DELETE FROM run WHERE state = 'DONE'",
  "DELETE FROM outbox WHERE state = 'SENT'",
  'DELETE FROM step WHERE run_seq NOT IN (SELECT seq FROM run)',
];

/** The command, in a process that can be killed. */
const CHILD = `
  const [dir] = process.argv.slice(1);
  const { openJournal } = await import('${ROOT}/src/journal/open.ts');
  const { systemClock: clock } = await import('${ROOT}/src/lib/clock.ts');
  const { remainsFor } = await import('${ROOT}/src/app/compose/store.ts');
  const { eraseAlone } = await import('${ROOT}/src/app/erase-alone.ts');
  const opened = await openJournal({ dir, clock, checks: false, remains: remainsFor({ clock }) });
  await opened.journal.commit([{ kind: 'erase', who: { channel: 'chat', senderId: '${IDS.chat}' }, by: 'cli' }]);
  const { erasures } = opened.people;
  const eraseRows = async (...args) => {
    const erased = await erasures.eraseRows(...args);
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 5);
    return erased;
  };
  const { signal } = new AbortController();
  await eraseAlone(dir, { erasures: { ...erasures, eraseRows }, clock, signal, onLeft: () => undefined });
`;

const inGroups = (...kinds: readonly string[]): readonly string[] =>
  kinds.flatMap((kind) => [`CANARY${kind}CHAT`, `CANARY${kind}TEST`]);
const NOT_EXPORTED = {
  before: [],
  after: inGroups(
    // Stand in lines of others under a name alone, which may be a namesake's.
    ...['ASIDE', 'CITED', 'REACTION'],
    // Stood in the rows alone that are gone: these are stored nowhere.
    ...['MODELARG', 'QUEUEARG', 'TOPICARG'],
  ).toSorted(),
};

for (const age of ['before', 'after'] as const)
  test(`no word of a person is left ${age} the housekeeping of a week, by an erasure that was killed and done again`, async () => {
    await using dir = await tempDir();
    const dataDir = join(dir.path, 'data');
    {
      await using at = await peopleRig({ dir: dir.path, script, entry: ENTRY });
      await fillGroup(at);
      await fillOwn(at);
      await at.settled();
      if (age === 'after') for (const sql of AGE) at.rows(sql);
      await link(at);
      const out = join(dir.path, 'export');
      expect(await at.cli('people', 'export', `test:${IDS.test}`, '--out', out)).toMatchObject({ code: 0 });
      const texts = [await readFile(join(out, 'person.json'), 'utf8')];
      for (const path of await filesBelow(join(out, 'files'))) texts.push(await readFile(path, 'utf8'));
      const missing = [...CANARIES].filter((word) => !texts.some((text) => text.includes(word)));
      // Later, whom an answer was for that did not arrive is not known where the row of its request said so.
      const known = missing.filter((word) => age === 'before' || !word.includes('REFUSEDPART'));
      expect.soft(known.toSorted()).toEqual(NOT_EXPORTED[age]);
      expect.soft(texts.join()).not.toContain('words of Ada');
      await at.stop();
    }
    const killed = spawnSync(process.execPath, ['--input-type=module', '-e', CHILD, dataDir]);
    expect(killed.signal, String(killed.stderr)).toBe('SIGKILL');
    const done = await peopleCli(dir.path)('people', 'erase', `chat:${IDS.chat}`);
    expect(done).toMatchObject({ code: 0, stderr: expect.stringContaining('an earlier erasure') });
    expect.soft(done.stderr).toContain('job abcd9999 of another writes to them and stays');
    expect((await peopleCli(dir.path)('cron', 'remove', 'abcd9999')).code).toBe(0);
    expect((await peopleCli(dir.path)('people', 'erase', `chat:${IDS.chat}`, '--yes')).stderr).toContain('GH1003');
    // Once the rows are gone, nothing says whose these are.
    const found = await filesHolding(dataDir, [
      ...CANARIES,
      ...Object.values(IDS),
      'root.canary',
      ...(age === 'before' ? ['CANARYFAR', 'id.canary'] : []),
    ]);
    expect.soft(found.filter((one) => !one.includes('journal.db'))).toEqual([]);
    expect.soft(found).toEqual([]);
    for (const words of ['QUIET words of Ada', 'QUIET more', 'words of Ada in a thread'])
      expect(await filesHolding(join(dataDir, 'users'), [words])).not.toEqual([]);
  }, 120_000);

test('what a person said aside in a group goes, also where they never spoke to the agent', async () => {
  await using dir = await tempDir();
  await using at = await peopleRig({ dir: dir.path, script, entry: ENTRY });
  await at.channels.chat.deliver(eve('chat', { ...GROUP, mentionsBot: false, text: 'CANARYASIDE' }));
  await at.ask('chat', { ...ADA, ...GROUP, text: 'QUIET words of Ada' });
  await at.settled();
  expect(await filesHolding(join(at.dataDir, 'users'), ['CANARYASIDE', 'NAMESLACK'])).toHaveLength(2);
  expect(await at.cli('people', 'erase', `chat:${IDS.chat}`, '--yes')).toMatchObject({ code: 0 });
  expect(await filesHolding(at.dataDir, ['CANARYASIDE', 'NAMESLACK', IDS.chat])).toEqual([]);
  expect(await filesHolding(join(at.dataDir, 'users'), ['QUIET words of Ada'])).not.toEqual([]);
});

const SECRET = 'the code of the front door is 4711';

test('files that a task of a person’s job wrote into the workspace of a group go, and those that others wrote too stay', async () => {
  await using dir = await tempDir();
  await using at = await peopleRig({ dir: dir.path, script, entry: ENTRY });
  const write = (path: string, content: string) => ({ name: 'write_file', arguments: { path, content } });
  await at.ask('chat', eve('chat', { ...GROUP, text: 'QUIET hello' }));
  const authority = { ...MEMBER, principal: `chat:${IDS.chat}` };
  const calls = [write('made.txt', SECRET), write('weather.txt', 'SUNNY'), write('both.txt', 'CLOUDY')];
  const payload = { text: `${SECRET}\n${call(...calls)}`, profile: 'task', session: '_main:chat:group' } as const;
  const due = { nextDue: Date.now(), schedule: { kind: 'at', at: Date.now() } } as const;
  await at.rig.daemon.journal.commit([{ kind: 'job', job: job({ id: 'abcd1234', authority, payload, ...due }) }]);
  const made = () => filesHolding(join(at.dataDir, 'workspaces'), [SECRET, 'SUNNY', 'CLOUDY']);
  await until('they are written', async () => (await made()).length === 3);
  await at.settled();
  // People and models are slower than a file system's clock.
  await new Promise((resolve) => setTimeout(resolve, 50));
  await at.ask('chat', { ...ADA, ...GROUP, text: call(write('both.txt', 'CLOUDY')) });
  await at.settled();
  const done = await at.cli('people', 'erase', `chat:${IDS.chat}`, '--yes');
  expect(done).toMatchObject({ code: 0, stderr: expect.not.stringContaining('.txt') });
  expect(await made()).toEqual([expect.stringContaining('both.txt')]);
  expect(await filesHolding(at.dataDir, [SECRET])).toEqual([]);
});

test('files that a task of a person and another person wrote in the workspace of a group stay, whichever was the task', async () => {
  await using dir = await tempDir();
  await using at = await peopleRig({ dir: dir.path, script, entry: ENTRY });
  const { chat } = at.channels;
  const write = (path: string, content: string) => ({ name: 'write_file', arguments: { path, content } });
  const done = (count: number) =>
    until(`${count} are done`, () => chat.texts('group').filter((text) => text.includes('is done')).length === count);
  await chat.deliver(eve('chat', { ...GROUP, text: `/task ${call(write('one.txt', 'HERS'), write('alone.txt', 'HERS'))}` }));
  await done(1);
  await at.ask('chat', { ...ADA, ...GROUP, text: call(write('./one.txt', 'PLAN OF ADA')) });
  await at.ask('chat', eve('chat', { ...GROUP, text: call(write('two.txt', 'HERS')) }));
  await chat.deliver({ ...ADA, ...GROUP, text: `/task ${call(write('two.txt', 'PLAN OF ADA'))}` });
  await done(2);
  await at.settled();
  expect(await at.cli('people', 'erase', `chat:${IDS.chat}`, '--yes')).toMatchObject({ code: 0 });
  expect(await filesHolding(join(at.dataDir, 'workspaces'), ['PLAN OF ADA'])).toHaveLength(2);
  expect(await filesHolding(join(at.dataDir, 'workspaces'), ['HERS'])).toEqual([]);
});

test('what lies elsewhere in the data directory and holds words of a person is named, and stays', async () => {
  await using dir = await tempDir();
  await using at = await peopleRig({ dir: dir.path, script, entry: ENTRY });
  await at.ask('chat', eve('chat', { text: SECRET }));
  await at.settled();
  const files = { 'mcp/notes/memory.json': SECRET, 'HEARTBEAT.md': `ask ${NAMES.chat}`, 'channels/chat/login': IDS.chat };
  for (const [file, words] of Object.entries({ ...files, 'mcp/notes/other.json': 'words of Ada' })) {
    await mkdir(dirname(join(at.dataDir, file)), { recursive: true });
    await writeFile(join(at.dataDir, file), words);
  }
  for (const how of ['--dry-run', '--yes']) {
    const done = await at.cli('people', 'erase', `chat:${IDS.chat}`, how);
    const named = [...done.stderr.matchAll(/→ \S*\/data\/(\S+) names or quotes them and stays/g)].map(([, file]) => file);
    expect(named.toSorted(), done.stderr).toEqual(Object.keys(files).toSorted());
  }
  expect((await filesHolding(at.dataDir, [SECRET, NAMES.chat, IDS.chat])).length).toBe(3);
});
