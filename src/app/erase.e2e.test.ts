// A person is exported and erased, through the whole daemon and its command line: three channels, everything
// real but the platforms and the model.
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { platformIdOf } from '../../channels/whatsapp/in/inbound.ts';
import { legacyPath, sessionStem } from '../../sessions/file-name.ts';
import type { InboundMessage } from '../core/message.ts';
import type { ModelRequest } from '../core/model.ts';
import { Database } from '../journal/database.ts';
import { openJournal } from '../journal/open.ts';
import { MIGRATIONS, migrate } from '../journal/schema.ts';
import { systemClock } from '../lib/clock.ts';
import { filesBelow, filesHolding } from '../testing/bytes-on-disk.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { filesOfRoot, isNotRoot, otherUsersDirectory } from '../testing/files-of-root.ts';
import { job, MEMBER } from '../testing/jobs.ts';
import { type PeopleRig, peopleCli, peopleRig } from '../testing/people-rig.ts';
import { defineTool } from '../tools/define.ts';
import { remainsFor } from './compose/store.ts';

const IDS = { test: '4242424242', chat: 'U0EVEEVE', mail: 'eve@example.org' } as const;
const GROUP = { chatId: 'group', isGroup: true, mentionsBot: true };
const eve = (type: keyof typeof IDS, more: Partial<InboundMessage>): Partial<InboundMessage> => ({
  ...{ senderId: IDS[type], senderName: 'Eve Example', chatId: IDS[type] },
  ...more,
});
const ADA: Partial<InboundMessage> = { senderId: 'ada', senderName: 'Ada' };

/** Answers with what was said, waits where it is asked to, and writes a file. */
function script({ messages }: ModelRequest) {
  const last = messages.at(-1);
  const words = last?.content ?? '';
  if (last?.role === 'tool') return `done: ${words}`;
  if (words.includes('PARK'))
    return { text: '', toolCalls: [{ name: 'ask_person', arguments: { question: `May I ${words}?` } }] };
  if (words.includes('FILE'))
    return { text: '', toolCalls: [{ name: 'write_file', arguments: { path: 'note.txt', content: `of ${words}` } }] };
  return `echo ${words}`;
}

/** Every way in which words of a person come to lie on the disk, each with a word of its own. */
const CANARIES = [
  'CANARYTEST',
  'CANARYCHAT',
  'CANARYMAIL',
  'CANARYGROUP',
  'CANARYASIDE',
  'CANARYUPLOAD',
  'CANARYSHARED',
  'CANARYPARKED',
  'CANARYJOB',
  'CANARYARCHIVE',
  'CANARYFILE',
];

async function fill(at: PeopleRig): Promise<void> {
  const { channels } = at;
  channels.test.files.set('f', Buffer.from('CANARYUPLOAD text'));
  channels.chat.files.set('g', Buffer.from('CANARYSHARED text'));
  await at.ask('test', eve('test', { text: 'CANARYARCHIVE' }));
  await at.ask('test', eve('test', { text: '/new --keep 0' }));
  await at.ask('test', eve('test', { text: 'CANARYTEST', media: [{ kind: 'document', ref: 'f', name: 'CANARYUPLOAD.txt' }] }));
  await at.ask('test', eve('test', { text: 'CANARYFILE FILE' }));
  await at.ask('chat', eve('chat', { text: 'CANARYCHAT' }));
  await at.ask('mail', eve('mail', { text: 'CANARYMAIL' }));
  await at.ask('chat', eve('chat', { ...GROUP, text: 'CANARYGROUP is what I say', media: [{ kind: 'document', ref: 'g' }] }));
  await at.ask('chat', eve('chat', { ...GROUP, text: 'CANARYFILE FILE' }));
  await channels.chat.deliver(eve('chat', { ...GROUP, mentionsBot: false, text: 'CANARYASIDE' }));
  await at.ask('chat', { ...ADA, ...GROUP, text: 'words of Ada' });
  await at.ask('chat', {
    ...ADA,
    ...GROUP,
    text: 'more',
    replyTo: { platformId: 'x', fromBot: false, text: 'CANARYGROUP is what I say' },
  });
  await at.ask('mail', eve('mail', { text: 'CANARYPARKED PARK' }));
  const authority = { ...MEMBER, principal: `test:${IDS.test}` };
  await at.rig.daemon.journal.commit([
    { kind: 'job', job: job({ id: 'abcd1234', authority, payload: { text: 'CANARYJOB', profile: 'session' } }) },
  ]);
  await at.settled();
  await writeFile(join(at.dataDir, 'journal.db.v6.bak'), 'CANARYTEST');
}

const link = async (at: Pick<PeopleRig, 'cli'>): Promise<void> => {
  expect((await at.cli('people', 'link', `test:${IDS.test}`, `chat:${IDS.chat}`)).code).toBe(0);
  expect((await at.cli('people', 'link', `mail:${IDS.mail}`, `chat:${IDS.chat}`)).code).toBe(0);
};

test('export holds every stored word of a person over three linked channels, and nothing of others', async () => {
  await using dir = await tempDir();
  await using at = await peopleRig({ dir: dir.path, script });
  await fill(at);
  await link(at);
  const out = join(dir.path, 'export');
  expect(await at.cli('people', 'export', `test:${IDS.test}`, '--out', out)).toMatchObject({ code: 0 });
  const document = await readFile(join(out, 'person.json'), 'utf8');
  const texts = [document];
  for (const path of await filesBelow(join(out, 'files'))) texts.push(await readFile(path, 'utf8'));
  expect(CANARIES.filter((word) => !texts.some((text) => text.includes(word)))).toEqual([]);
  expect(document).not.toContain('words of Ada');
  const printed = await at.cli('people', 'export', `mail:${IDS.mail}`, '--json');
  expect(JSON.parse(printed.stdout)).toMatchObject({ schemaVersion: 1, ids: expect.arrayContaining([`chat:${IDS.chat}`]) });
  expect((await at.cli('people', 'export', `test:${IDS.test}`, '--out', out)).stderr).toContain('is not empty');
});

const LEDGER = ['usage', 'usage_total', 'usage_by_model', 'usage_by_sender'] as const;
const COLUMNS = ['tokens_in', 'tokens_out', 'tokens_cached', 'tokens_cache_write', 'cost_usd'];

/** The sum of every column of the calls and of each roll-up. */
function ledgerOf(at: PeopleRig): readonly { readonly calls?: unknown }[] {
  return LEDGER.flatMap((table) => {
    const calls = table === 'usage' ? 'count(*) AS calls' : 'total(calls) AS calls, total(unpriced) AS unpriced';
    return at.rows(`SELECT ${[calls, ...COLUMNS.map((name) => `total(${name}) AS ${name}`)].join(', ')} FROM ${table}`) as {
      calls?: unknown;
    }[];
  });
}

test.each(['a running daemon', 'no daemon'])('erase beside %s leaves no word and no id of a person anywhere', async (beside) => {
  await using dir = await tempDir();
  await using at = await peopleRig({ dir: dir.path, script });
  // As of a clock that was ahead: each call is in the roll-ups at once.
  at.rows(`UPDATE meta SET value = ${Date.now() + 86_400_000} WHERE name = 'usage_summed_until'`);
  await fill(at);
  await link(at);
  for (const table of LEDGER)
    at.rows(`UPDATE ${table} SET tokens_out = 7, tokens_cached = 3, tokens_cache_write = 2, cost_usd = 0.25`);
  const before = ledgerOf(at);
  expect(before.map(({ calls }) => Number(calls) > 0)).toEqual(LEDGER.map(() => true));
  if (beside === 'no daemon') {
    await at.stop();
    if (!isNotRoot) await otherUsersDirectory(at.dataDir);
  }
  const dry = await at.cli('people', 'erase', `test:${IDS.test}`, '--dry-run');
  expect(dry).toMatchObject({ code: 0, stdout: expect.stringMatching(/rows of the journal.*files/) });
  const done = await at.cli('people', 'erase', `chat:${IDS.chat}`, '--yes');
  expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining('erased') });
  const texts = [...CANARIES, ...Object.values(IDS), 'Eve Example'];
  expect(await filesHolding(at.dataDir, texts)).toEqual([]);
  expect(ledgerOf(at)).toEqual(before);
  expect(await at.cli('people', 'audit', '--verify')).toMatchObject({ code: 0 });
  expect((await at.cli('people', 'audit', '--json')).stdout).toContain('person.erased');
  if (beside === 'no daemon') {
    const ours = (await filesOfRoot(at.dataDir)).filter((name) => /^(?:users|upload-days)\b/.test(name));
    return expect(isNotRoot ? [] : ours).toEqual([]);
  }
  await at.stop();
  expect(await filesHolding(at.dataDir, texts)).toEqual([]);
});

test('after an erase the group goes on with what others said, and the next message of the person is a stranger’s', async () => {
  await using dir = await tempDir();
  await using at = await peopleRig({ dir: dir.path, script, entry: { allowed_senders: ['ada'], allowed_groups: ['*'] } });
  await at.channels.chat.deliver(eve('chat', { text: 'let me in' }));
  await until('she has a code', () => at.channels.chat.sent.length === 1);
  expect((await at.cli('pair', 'approve', '--sender', `chat:${IDS.chat}`)).code).toBe(0);
  await until('she is told', () => at.channels.chat.sent.length === 2);
  await at.ask('chat', eve('chat', { ...GROUP, text: 'CANARYGROUP' }));
  await at.ask('chat', { ...ADA, ...GROUP, text: 'words of Ada' });
  await at.settled();
  expect((await at.cli('people', 'erase', `chat:${IDS.chat}`, '--yes')).code).toBe(0);
  await at.ask('chat', { ...ADA, ...GROUP, text: 'go on' });
  const told = at.model.requests
    .at(-1)
    ?.messages.slice(1)
    .map(({ role, content }) => `${role}: ${content}`);
  expect(told).toEqual([
    'user: [erased]',
    'assistant: [erased]',
    'user: [from Ada] words of Ada',
    'assistant: echo [from Ada] words of Ada',
    'user: [from Ada] go on',
  ]);
  const answer = await at.ask('chat', eve('chat', { text: 'hello again' }));
  expect(answer).toContain('This assistant is private');
});

test('an erasure that was killed is finished by the next call, which says so', async () => {
  await using dir = await tempDir();
  {
    await using at = await peopleRig({ dir: dir.path, script });
    await fill(at);
    await link(at);
    await at.stop();
    const erase = { kind: 'erase', who: { channel: 'test', senderId: IDS.test }, by: 'cli' } as const;
    await using opened = await openJournal({ dir: at.dataDir, clock: systemClock, remains: remainsFor({ clock: systemClock }) });
    await opened.journal.commit([erase]);
  }
  const cli = peopleCli(dir.path);
  const done = await cli('people', 'erase', `test:${IDS.test}`);
  expect(done).toMatchObject({ code: 0, stderr: expect.stringContaining('an earlier erasure') });
  expect(await filesHolding(join(dir.path, 'data'), [...CANARIES, ...Object.values(IDS)])).toEqual([]);
});

/** As `shell` does: what it writes is known to it alone. */
const program = defineTool({
  ...{ name: 'program', description: 'Runs.', tags: [], effect: 'workspace', outputBytes: 1_000 },
  schema: z.strictObject({ path: z.string(), text: z.string() }),
  async run({ path, text }, { workspace }) {
    await mkdir(dirname(join(workspace, path)), { recursive: true });
    await appendFile(join(workspace, path), `${text}\n`);
    return { output: 'done' };
  },
});

const SECRET = 'the code of the front door is 4711';

/** A group where Ada and Eve have a program write: `out/made.txt` is Eve's alone, `plan.txt` of both. */
async function groupWithFiles(dir: string): Promise<PeopleRig> {
  const run = ({ messages }: ModelRequest) => {
    const call = /RUN (.*)$/.exec(messages.at(-1)?.content ?? '')?.[1];
    return call === undefined
      ? 'done'
      : { text: '', toolCalls: [{ name: 'program', arguments: JSON.parse(call) as Record<string, unknown> }] };
  };
  const entry = { allowed_senders: [IDS.chat, 'ada'], allowed_groups: ['*'] };
  const at = await peopleRig({ dir, script: run, tools: [() => [program]], entry });
  const asks = async (who: Partial<InboundMessage>, path: string, text: string): Promise<void> => {
    await at.ask('chat', { ...who, ...GROUP, text: `${text}\nRUN ${JSON.stringify({ path, text })}` });
    // People and models are slower than a file system's clock.
    await new Promise((resolve) => setTimeout(resolve, 20));
  };
  await asks(eve('chat', {}), 'out/made.txt', SECRET);
  await asks(ADA, 'plan.txt', 'this is the plan of Ada');
  await asks(eve('chat', {}), 'plan.txt', SECRET);
  await asks(ADA, 'own.txt', 'this is the plan of Ada');
  return at;
}

const WHERE = ['in files of sessions', 'in the journal alone'] as const;

test.each(WHERE)('a file of a person alone goes, and one of several is named, with lines %s', async (where) => {
  await using dir = await tempDir();
  await using at = await groupWithFiles(dir.path);
  if (where === 'in files of sessions') await at.settled();
  const [made, plan] = (await filesHolding(join(at.dataDir, 'workspaces'), [SECRET])).toSorted();
  expect([made, plan]).toEqual([expect.stringContaining('out/made.txt'), expect.stringContaining('plan.txt')]);
  const dry = await at.cli('people', 'erase', `chat:${IDS.chat}`, '--dry-run');
  expect(dry.stderr).toContain('plan.txt holds words of theirs and stays');
  const done = await at.cli('people', 'erase', `chat:${IDS.chat}`, '--yes');
  expect(done).toMatchObject({ code: 0, stderr: expect.stringMatching(/plan\.txt holds words of theirs and stays/) });
  expect(`${dry.stderr}${done.stderr}`).not.toMatch(/(?:made|own)\.txt/);
  expect(await filesHolding(at.dataDir, [SECRET])).toEqual([plan]);
});

test('a file that stays of another, whose erasure came to no end, is named too', async () => {
  await using dir = await tempDir();
  {
    await using at = await groupWithFiles(dir.path);
    await at.ask('test', { senderId: 'bob-1', senderName: 'Bob', chatId: 'bob-1', text: 'hello' });
    await at.stop();
    const erase = { kind: 'erase', who: { channel: 'chat', senderId: IDS.chat }, by: 'cli' } as const;
    await using opened = await openJournal({ dir: at.dataDir, clock: systemClock, remains: remainsFor({ clock: systemClock }) });
    await opened.journal.commit([erase]);
  }
  const done = await peopleCli(dir.path)('people', 'erase', 'test:bob-1', '--yes');
  expect(done).toMatchObject({ code: 0, stderr: expect.stringContaining('plan.txt holds words of theirs and stays') });
});

test('without a yes nothing is erased, and a person of whom nothing is stored is named', async () => {
  await using dir = await tempDir();
  await using at = await peopleRig({ dir: dir.path, script });
  await at.ask('test', eve('test', { text: 'CANARYTEST' }));
  const refused = await at.cli('people', 'erase', `test:${IDS.test}`);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
  expect((await at.cli('tasks', 'add', 'of the operator')).code).toBe(0);
  await mkdir(join(at.dataDir, 'chat'));
  await writeFile(join(at.dataDir, 'chat', 'journal.db'), '');
  const [operator, other] = [
    await at.cli('people', 'erase', 'cli:local', '--dry-run'),
    await at.cli('people', 'erase', `test:${IDS.test}`, '--dry-run'),
  ];
  expect(operator.stderr).toContain(`stays in ${join(at.dataDir, 'chat')}`);
  expect(other.stderr).toBe('');
  expect(await at.cli('people', 'erase', 'test:nobody', '--yes')).toMatchObject({ stderr: expect.stringContaining('GH1003') });
  expect(await at.cli('people', 'export', 'test:nobody')).toMatchObject({ stderr: expect.stringContaining('GH1003') });
});

test('an erasure that was begun is finished by the next start, and a message that the platform repeats is known still', async () => {
  await using dir = await tempDir();
  const first = eve('test', { platformId: `${IDS.test}:1`, text: 'CANARYTEST' });
  {
    await using at = await peopleRig({ dir: dir.path, script });
    await at.ask('test', first);
    await at.settled();
    await at.stop();
    await using opened = await openJournal({
      dir: at.dataDir,
      clock: systemClock,
      remains: remainsFor({ clock: systemClock }),
    });
    await opened.journal.commit([{ kind: 'erase', who: { channel: 'test', senderId: IDS.test }, by: 'cli' }]);
  }
  await using at = await peopleRig({ dir: dir.path, script });
  await until('it is finished', () => at.rows("SELECT 1 FROM audit WHERE kind = 'person.erased'").length === 1);
  await until('nothing is left to do', () => at.rows("SELECT 1 FROM meta WHERE name LIKE 'erasure %'").length === 0);
  expect(await filesHolding(at.dataDir, ['CANARYTEST', IDS.test])).toEqual([]);
  await at.channels.test.deliver(first);
  await at.rig.daemon.gateway.idle();
  expect(at.model.requests).toEqual([]);
});

test('a summary of a group is made anew after an erase, without a word of the person, and the next turn has it', async () => {
  await using dir = await tempDir();
  await using at = await peopleRig({
    dir: dir.path,
    script: ({ messages, context }) => (context.purpose === 'summary' ? `SUMMARY of ${messages.at(-1)?.content}` : 'noted'),
  });
  for (let n = 0; n < 20; n += 1)
    await at.ask(
      'chat',
      n % 2 === 0 ? eve('chat', { ...GROUP, text: `CANARYLONG${n}` }) : { ...ADA, ...GROUP, text: `words of Ada ${n}` },
    );
  const summaries = () => at.model.requests.filter(({ context }) => context.purpose === 'summary');
  await until('it is compacted', () => summaries().length === 1);
  await at.settled();
  expect((await at.cli('people', 'erase', `chat:${IDS.chat}`, '--yes')).code).toBe(0);
  await at.ask('chat', { ...ADA, ...GROUP, text: 'go on' });
  await until('it is made anew', () => summaries().length === 2);
  const asked = JSON.stringify(summaries()[1]?.messages);
  expect(asked).toContain('words of Ada 1');
  expect(asked).not.toContain('CANARYLONG');
  await until('the next turn has it', async () => {
    await at.ask('chat', { ...ADA, ...GROUP, text: 'and on' });
    return JSON.stringify(at.model.requests.at(-1)?.messages).includes('SUMMARY of');
  });
  expect(await filesHolding(at.dataDir, ['CANARYLONG', 'Eve Example'])).toEqual([]);
});

test('words of a person in an archive beside no session, as a run leaves it that ends after its topic, go too', async () => {
  await using dir = await tempDir();
  await using at = await peopleRig({ dir: dir.path, script });
  await at.ask('chat', eve('chat', { ...GROUP, text: 'CANARYGROUP is what I say' }));
  await at.ask('chat', { ...ADA, ...GROUP, text: 'words of Ada' });
  await at.settled();
  await at.stop();
  const [file = ''] = (await filesBelow(join(at.dataDir, 'users'))).filter((path) =>
    path.endsWith('group/sessions/default.jsonl'),
  );
  const [_header, ...lines] = (await readFile(file, 'utf8')).split('\n');
  const archive = join(dirname(file), 'work.archive.jsonl');
  await writeFile(archive, lines.join('\n'));
  expect((await peopleCli(dir.path)('people', 'erase', `chat:${IDS.chat}`, '--yes')).code).toBe(0);
  expect(await filesHolding(at.dataDir, ['CANARYGROUP'])).toEqual([]);
  expect(await readFile(archive, 'utf8')).toContain('words of Ada');
});

test.each(['a running daemon', 'no daemon'])(
  'the number of a person that is a part of the ids of their messages stays nowhere, beside %s',
  async (beside) => {
    await using dir = await tempDir();
    await using at = await peopleRig({ dir: dir.path });
    const [number, chatId] = ['491711234567@s.whatsapp.net', '120363000000000001@g.us'];
    const group = { chatId, isGroup: true, mentionsBot: true };
    const own = (id: string) => ({
      ...{ senderId: number, senderName: 'Eve Example', ...group, platformId: platformIdOf(chatId, number, id) },
    });
    const [first, aside] = [own('3EB0AA'), own('3EB0DD')];
    await at.ask('chat', { ...ADA, ...group, text: 'words of Ada' });
    await at.ask('chat', { ...own('3EB0CC'), text: '/new' });
    await at.ask('chat', { ...first, text: 'hello' });
    await at.channels.chat.deliver({ ...aside, mentionsBot: false, text: 'an aside' });
    await at.ask('chat', { ...ADA, ...group, text: 'what?', replyTo: { ...first, fromBot: false, text: 'hello' } });
    await at.ask('chat', { ...ADA, ...group, text: 'and that?', replyTo: { platformId: aside.platformId, fromBot: false } });
    await at.channels.chat.deliver({ ...ADA, ...group, kind: 'reaction', targetId: first.platformId, text: '👍' });
    await at.settled();
    if (beside === 'no daemon') await at.stop();
    expect(await at.cli('people', 'erase', `chat:${number}`, '--yes')).toMatchObject({ code: 0 });
    expect(await filesHolding(at.dataDir, ['491711234567'])).toEqual([]);
    expect(await filesHolding(join(at.dataDir, 'users'), ['words of Ada', 'and that?'])).toHaveLength(2);
  },
);

test.each([true, false])(
  'a private conversation of version 4 goes whose person did not write since (paired: %s)',
  async (paired) => {
    await using dir = await tempDir();
    const data = join(dir.path, 'data');
    await mkdir(data);
    {
      using old = new Database(join(data, 'journal.db'), { busyMs: 0 });
      migrate(old, MIGRATIONS.slice(0, 4));
      if (paired)
        old.run(`INSERT INTO pairing (key, channel, account, sender_id, sender_name, state, created_at, expires_at, told_at)
          VALUES ('test/bot/4242', 'test', 'bot', '4242', 'Eve', 'approved', 1, 1, 1)`);
    }
    const words = { role: 'user', timestamp: '2026-01-01T00:00:00.000Z' };
    await writeSession(`${sessionStem(data, '_main:test:4242')}.jsonl`, { id: 'test/bot/1:in', ...words, content: 'CANARYOLD' });
    await writeFile(
      join(dir.path, 'config.json'),
      JSON.stringify({ gateway: { channels: [{ type: 'test', allowed_senders: ['*'] }] } }),
    );
    const cli = peopleCli(dir.path);
    expect((await cli('people', 'export', 'test:4242')).stdout).toContain('CANARYOLD');
    expect(await cli('people', 'erase', 'test:4242', '--yes')).toMatchObject({ code: 0 });
    expect(await filesHolding(data, ['CANARYOLD'])).toEqual([]);
  },
);

test('a group that lies where an earlier version kept it is exported and erased like any other', async () => {
  await using dir = await tempDir();
  await using at = await peopleRig({ dir: dir.path, script });
  await at.stop();
  const words = { role: 'user', timestamp: '2026-01-01T00:00:00.000Z' };
  const line = { id: 'chat/bot/1:in', ...words, content: `[from Eve Example] CANARYGROUP`, by: `chat:${IDS.chat}` };
  await writeSession(legacyPath(at.dataDir, '_main:chat:group'), line);
  const cli = peopleCli(dir.path);
  expect((await cli('people', 'export', `chat:${IDS.chat}`)).stdout).toContain('CANARYGROUP');
  expect(await cli('people', 'erase', `chat:${IDS.chat}`, '--yes')).toMatchObject({ code: 0 });
  expect(await filesHolding(at.dataDir, ['CANARYGROUP'])).toEqual([]);
});

async function writeSession(path: string, line: object): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const at = '2026-01-01T00:00:00.000Z';
  const key = path.includes('group') ? '_main:chat:group' : '_main:test:4242';
  const header = { schema_version: 1, session_key: key, created_at: at, updated_at: at };
  await writeFile(path, [header, line].map((one) => `${JSON.stringify(one)}\n`).join(''));
}
