// Directories of versions 1 to 4 with a message in each state that a kill can leave: every row ends as it
// would have under its own version, once, and the chat goes on with its history.
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ModelRequest } from '../core/model.ts';
import { DoublePlatform } from '../simulator/double/server.ts';
import { countingTool } from '../testing/agent-run.ts';
import { doubleChannel } from '../testing/double/channel.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { leaveOldData, OLD_CALLS, OLD_STATES, OLD_VERSIONS, type OldState } from '../testing/old-journal.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { testDaemon } from '../testing/test-daemon.ts';

const EARLIER = ['my name is Ada', 'Hello Ada.'];

interface End {
  /** What the model is shown by the row; absent = it is not asked. */
  readonly shown?: readonly unknown[];
  readonly sent: readonly string[];
  readonly inbox: string;
  readonly outbox: string;
}

const UNKNOWN = expect.stringMatching(/^Error: outcome unknown/);
/** For a platform that cannot be asked what arrived. */
const ENDS: Readonly<Record<OldState, End>> = {
  NEW: { shown: ['pay and post'], sent: ['answer 1'], inbox: 'DONE', outbox: 'SENT' },
  RUNNING: { shown: ['pay and post', 'On it.', 'paid 9 EUR', UNKNOWN], sent: ['answer 1'], inbox: 'DONE', outbox: 'SENT' },
  PENDING: { sent: ['old answer'], inbox: 'DONE', outbox: 'SENT' },
  SENDING: { sent: [], inbox: 'DONE', outbox: 'UNKNOWN' },
  SENT: { sent: [], inbox: 'DONE', outbox: 'SENT' },
  UNKNOWN: { sent: [], inbox: 'DONE', outbox: 'UNKNOWN' },
  DEAD: { sent: [], inbox: 'DEAD', outbox: 'DEAD' },
  EXPIRED: { sent: [], inbox: 'DONE', outbox: 'EXPIRED' },
};

const CASES = OLD_VERSIONS.flatMap((version) => OLD_STATES.map((state) => [version, state] as const));

/** Without the system prompt. */
function shown(request: ModelRequest | undefined): readonly string[] {
  return (request?.messages ?? []).slice(1).map(({ content }) => content);
}

test.each(CASES)('version %i: a message that is %s ends as it would have, and the chat goes on', async (version, state) => {
  await using dir = await tempDir();
  await leaveOldData(dir.path, version, state);
  const tools = OLD_CALLS.map(({ name }) => countingTool({ name, run: async () => ({ ok: true, output: 'again' }) }));
  const model = scriptedModel(() => `answer ${model.requests.length}`);
  const end = ENDS[state];
  await using rig = await testDaemon({ dataDir: dir.path, model, daemon: { extraTools: [() => tools] } });
  const { journal, gateway } = rig.daemon;
  await gateway.idle();
  await access(join(dir.path, `journal.db.v${version}.bak`));
  const counted = await until('the row came to its end', async () => {
    const counts = await journal.counts();
    return counts.outbox.SENDING + counts.outbox.PENDING === 0 ? counts : undefined;
  });
  expect(counted.inbox).toEqual({ NEW: 0, RUNNING: 0, PARKED: 0, DONE: 0, DEAD: 0, [end.inbox]: 1 });
  expect(counted.outbox).toEqual({ PENDING: 0, SENDING: 0, SENT: 0, UNKNOWN: 0, DEAD: 0, EXPIRED: 0, [end.outbox]: 1 });
  expect(rig.channel.texts()).toEqual(end.sent);
  expect(shown(model.requests[0])).toEqual(end.shown ? [...EARLIER, ...end.shown] : []);
  expect(tools.map(({ runs }) => runs)).toEqual([0, 0]);

  await rig.channel.deliver({ platformId: 'm-3', text: 'and now?' });
  await gateway.idle();
  const before = end.shown ? [...EARLIER, ...end.shown, 'answer 1'] : EARLIER;
  expect(shown(model.requests.at(-1))).toEqual([...before, 'and now?']);
  // Its platform offers it once more.
  await rig.channel.deliver({ platformId: 'm-2', text: 'pay and post' });
  await gateway.idle();
  expect(rig.channel.texts()).toHaveLength(end.sent.length + 1);
});

test.each(OLD_VERSIONS)('version %i: a dead letter is replayed after the upgrade, message and answer', async (version) => {
  await using dir = await tempDir();
  await leaveOldData(dir.path, version, 'DEAD');
  const model = scriptedModel(() => 'better late');
  await using rig = await testDaemon({ dataDir: dir.path, model });
  const { journal, gateway } = rig.daemon;
  const letters = await journal.dead.list();
  expect(letters.map(({ id, reason }) => [id, reason]).sort()).toEqual([
    ['in-2', 'failed:GH2103'],
    ['out-5', 'as it was'],
  ]);
  for (const { id } of letters) expect(await journal.dead.replay(id)).toBe(true);
  await gateway.look();
  await until('both are sent', () => rig.channel.sent.length === 2);
  await gateway.idle();
  expect(rig.channel.texts().toSorted()).toEqual(['better late', 'old answer']);
  expect(shown(model.requests[0])).toEqual([...EARLIER, 'pay and post']);
  expect((await journal.counts()).inbox).toMatchObject({ DONE: 1, DEAD: 0 });
});

test.each(OLD_VERSIONS.flatMap((version) => [[version, 'had not arrived', 0] as const, [version, 'had arrived', 1] as const]))(
  'version %i: a part that was being sent and %s is there once, where the platform knows its key',
  async (version, _how, repeats) => {
    await using dir = await tempDir();
    await using platform = new DoublePlatform();
    const url = await platform.start();
    await leaveOldData(dir.path, version, 'SENDING');
    const body = JSON.stringify({ key: 'test/bot/m-2#0', chatId: 'chat-1', text: 'old answer' });
    if (repeats > 0) await fetch(`${url}/send`, { method: 'POST', body });
    const registry = { test: async () => doubleChannel };
    await using rig = await testDaemon({
      ...{ dataDir: dir.path, model: scriptedModel([]) },
      entry: { settings: { url, poll_ms: 20 } },
      daemon: { registry },
    });
    const { journal } = rig.daemon;
    await until('it is settled', async () => (await journal.counts()).outbox.SENT === 1);
    expect(platform.posted.map(({ key, text }) => [key, text])).toEqual([['test/bot/m-2#0', 'old answer']]);
    expect(platform.repeats).toBe(repeats);
  },
);
