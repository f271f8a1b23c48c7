// What version 3 of the journal and its session files left: a conversation with tools, and a turn that a kill
// cut off after a model answer.
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { sessionStem } from '../../sessions/file-name.ts';
import { messageKey, sessionKey, shortHash } from '../core/ids.ts';
import { createPrivateFile, Database } from '../journal/database.ts';
import { MIGRATIONS, migrate } from '../journal/schema.ts';
import { DoublePlatform } from '../simulator/double/server.ts';
import { countFile } from '../testing/child-daemon.ts';
import { tempDir } from '../testing/fakes.ts';
import { startInline } from '../testing/inline-daemon.ts';
import { STRICT_PEERS } from '../testing/strict/peers.ts';
import { startStrictServer } from '../testing/strict/strict-server.ts';

const CHAT = { channel: 'double', account: 'bot', chatId: 'c' };
const SESSION = sessionKey(CHAT);
const AT = '2026-11-20T10:00:00.000Z';

/** Lines as version 3 wrote them: reasoning as text, nothing of what the provider wants back. */
const LINES = [
  { schema_version: 1, session_key: SESSION, created_at: AT, updated_at: AT },
  { id: 'q1:in', role: 'user', content: 'count one', timestamp: AT },
  {
    ...{ id: 'q1#a1', role: 'assistant', content: '', timestamp: AT, reasoning_content: 'I should count.' },
    tool_calls: [{ id: 'call_0123456789abcdef_1_0', name: 'count', arguments: '{"n":1}' }],
  },
  { id: 'q1#t1.0', role: 'tool', content: 'counted 1', tool_call_id: 'call_0123456789abcdef_1_0', timestamp: AT },
  { id: 'q1#a2', role: 'assistant', content: 'It is one.', timestamp: AT },
];

async function leaveVersion3(dataDir: string): Promise<void> {
  const file = `${sessionStem(dataDir, SESSION)}.jsonl`;
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, LINES.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const path = join(dataDir, 'journal.db');
  await createPrivateFile(path);
  using old = new Database(path, { busyMs: 0 });
  migrate(old, MIGRATIONS.slice(0, 3));
  const now = Date.now();
  const message = {
    ...{ ...CHAT, platformId: 'm2', kind: 'message', senderId: 'ada', senderName: 'ada', text: 'count two' },
    ...{ media: [], isGroup: false, mentionsBot: false, timestamp: now },
  };
  const id = messageKey(message);
  old.run(
    `INSERT INTO inbox (key, lane, session, message, state, attempts, boot_id, accepted_at, aged_from)
     VALUES (?, ?, ?, ?, 'RUNNING', 1, 'boot-3', ?, ?)`,
    ...[id, SESSION, SESSION, JSON.stringify({ id, ...message }), now, now],
  );
  const call = { id: `call_${shortHash(id)}_1_0`, name: 'count', arguments: '{"n":2}' };
  const usage = { tokensIn: 10, tokensOut: 5, tokensCached: 0 };
  const answer = {
    text: '',
    reasoning: 'Again.',
    toolCalls: [call],
    stop: 'tools',
    usage,
    provider: 'moonshot',
    model: 'kimi-k2.6',
  };
  old.run(
    "INSERT INTO step (inbox_seq, n, kind, state, value) VALUES (1, 0, 'model', 'DONE', ?)",
    JSON.stringify({ at: now, ...answer }),
  );
}

test.each(STRICT_PEERS.map((peer) => [peer.name, peer] as const))(
  'a journal and a session file of version 3 open, and %s accepts what they hold',
  async (_name, peer) => {
    await using dir = await tempDir();
    await using platform = new DoublePlatform();
    const url = await platform.start();
    await using server = await startStrictServer(peer.wire, () => ({ text: 'It is two.' }), { apiKey: 'sk-strict' });
    await leaveVersion3(join(dir.path, 'data'));
    await writeFile(countFile(dir.path), '');
    const config = {
      ...{ ...peer.config, base_url: server.baseUrl, api_key_env: 'STRICT_KEY' },
      tool_policy: { members: ['*'] },
      gateway: { channels: [{ type: 'double', allowed_senders: ['*'], settings: { url } }], http: { port: 0 } },
    };
    await using daemon = await startInline({ dir: dir.path, config, env: { STRICT_KEY: 'sk-strict' }, faultParts: true });
    await daemon.settled(1);
    expect(server.refusals.map(({ refusal }) => refusal.body)).toEqual([]);
    expect(platform.posted.map(({ text }) => text)).toEqual(['It is two.']);
    expect(JSON.stringify(server.requests[0]?.body)).toMatch(/counted 1.*count two.*counted 2/);
  },
);
