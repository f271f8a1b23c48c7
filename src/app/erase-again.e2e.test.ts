// What comes while an erasure is under way, and what only other people's requests hold: through the whole
// daemon and its command line.
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { platformIdOf } from '../../channels/whatsapp/in/inbound.ts';
import { sessionStem } from '../../sessions/file-name.ts';
import type { ModelRequest } from '../core/model.ts';
import { Database } from '../journal/database.ts';
import { MIGRATIONS, migrate } from '../journal/schema.ts';
import { filesHolding } from '../testing/bytes-on-disk.ts';
import { gate, tempDir, until } from '../testing/fakes.ts';
import { type PeopleRig, peopleCli, peopleRig } from '../testing/people-rig.ts';

const GROUP = { chatId: 'group', isGroup: true, mentionsBot: true };
/** Its turn holds up an erasure. */
const ADA = { ...GROUP, senderId: 'ada', senderName: 'Ada', chatId: 'zz' };

async function holdTurn(at: PeopleRig): Promise<void> {
  await at.channels.chat.deliver({ ...ADA, text: 'HOLD' });
  await until('her turn is held', () => at.model.requests.some(({ messages }) => messages.at(-1)?.content.includes('HOLD')));
}

const rowsGone = (at: PeopleRig, principal: string) =>
  until('the rows are gone', () => at.rows(`SELECT 1 FROM run WHERE principal = '${principal}'`).length === 0);

test('a run of another that waits goes on with its history while the erasure waits for a turn elsewhere', async () => {
  await using dir = await tempDir();
  const held = gate();
  let resumed: readonly string[] | undefined;
  const script = async ({ messages }: ModelRequest) => {
    const asked = messages.findLastIndex(({ role, id }) => role === 'user' && !id.endsWith('#note'));
    const words = String(messages[asked]?.content);
    if (words.includes('HOLD')) await held.opened;
    if (!words.includes('ASK')) return 'ok';
    if (messages.slice(asked).some(({ role }) => role === 'tool')) {
      resumed = messages.map(({ content }) => content);
      return 'resumed';
    }
    const call = { name: 'ask_person', arguments: { question: 'which?', answer: 'text', of: 'chat' } };
    return { text: '', toolCalls: [call] };
  };
  await using at = await peopleRig({ dir: dir.path, script });
  const [number, ben] = ['491711234567@s.whatsapp.net', { ...GROUP, senderId: 'ben', senderName: 'Ben' }];
  await at.ask('chat', { ...ADA, text: 'one' });
  await at.settled();
  // The newest conversations are erased first.
  await sleep(50);
  await at.ask('chat', { ...ADA, ...GROUP, text: 'words of Ada' });
  const platformId = platformIdOf(GROUP.chatId, number, '3EB0AA');
  await at.ask('chat', { ...GROUP, senderId: number, senderName: 'Eve Example', platformId, text: 'hello' });
  await at.settled();
  const asked = await at.ask('chat', { ...ben, text: 'ASK' });
  const code = /\/answer ([A-Z2-9]{6})/.exec(asked)?.[1] ?? expect.fail(asked);
  await at.settled();
  await holdTurn(at);
  const erased = at.cli('people', 'erase', `chat:${number}`, '--yes');
  await rowsGone(at, `chat:${number}`);
  const changed = async () => (await filesHolding(at.dataDir, ['"erased:'])).some((file) => file.includes('.jsonl: '));
  await until('the group is erased', changed);
  await at.channels.chat.deliver({ ...ben, text: `/answer ${code} yes` });
  await until('it went on', () => resumed);
  held.open();
  expect((await erased).code).toBe(0);
  expect(resumed).toContain('[from Ada] words of Ada');
});

test('an erasure that the command line asks for again while it is at work takes what was written since', async () => {
  await using dir = await tempDir();
  const held = gate();
  const script = async ({ messages }: ModelRequest) => {
    if (messages.at(-1)?.content.includes('HOLD')) await held.opened;
    return 'ok';
  };
  await using at = await peopleRig({ dir: dir.path, script });
  const eve = { senderId: '4242424242', senderName: 'Eve Example', chatId: '4242424242' };
  await at.ask('chat', { ...eve, text: 'the first' });
  await at.ask('chat', { ...ADA, text: 'one' });
  await at.settled();
  await holdTurn(at);
  const first = at.cli('people', 'erase', 'chat:4242424242', '--yes');
  await rowsGone(at, 'chat:4242424242');
  await at.ask('chat', { ...eve, text: 'the second' });
  const second = at.cli('people', 'erase', 'chat:4242424242', '--yes');
  const begun = "SELECT 1 FROM meta WHERE name LIKE 'erasure %' AND value ->> '$.until' >= (SELECT max(seq) FROM run)";
  await until('it was asked for again', () => at.rows(begun).length > 0);
  held.open();
  const done = await Promise.all([first, second]);
  expect(done.map(({ code }) => code)).toEqual([0, 0]);
  expect(at.rows("SELECT 1 FROM run WHERE principal = 'chat:4242424242'")).toEqual([]);
});

test('a person who only ever spoke behind others is exported and erased, also once their rows are gone', async () => {
  await using dir = await tempDir();
  const [data, session, time] = [join(dir.path, 'data'), '_main:test:group', '2026-01-01T00:00:00.000Z'];
  await mkdir(data);
  {
    using db = new Database(join(data, 'journal.db'), { busyMs: 0 });
    migrate(db, MIGRATIONS);
  }
  const file = `${sessionStem(data, session)}.jsonl`;
  await mkdir(dirname(file), { recursive: true });
  const header = { schema_version: 1, session_key: session, created_at: time, updated_at: time };
  const content = '[from Ben] first\n---\nQueued #1:\n[from Eve] SECRETOFEVE';
  const joined = [{ by: 'test:eve', run: 'test/bot/2' }];
  const line = { id: 'test/bot/1:in', role: 'user', content, by: 'test:ben', joined, timestamp: time };
  await writeFile(file, [header, line].map((one) => `${JSON.stringify(one)}\n`).join(''));
  const config = { gateway: { channels: [{ type: 'test', allowed_senders: ['*'] }] } };
  await writeFile(join(dir.path, 'config.json'), JSON.stringify(config));
  const cli = peopleCli(dir.path);
  const { stdout } = await cli('people', 'export', 'test:eve');
  expect([stdout.includes('SECRETOFEVE'), stdout.includes('first')]).toEqual([true, false]);
  expect((await cli('people', 'erase', 'test:eve', '--yes')).code).toBe(0);
  expect(await filesHolding(data, ['SECRETOFEVE'])).toEqual([]);
  expect(await filesHolding(data, ['[from Ben] first'])).toHaveLength(1);
});
