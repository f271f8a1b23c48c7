import { expect, test } from 'vitest';
import type { NewRun } from '../../core/new-run.ts';
import { openJournal } from '../../journal/open.ts';
import { systemClock } from '../../lib/clock.ts';
import { tempDir, until } from '../../testing/fakes.ts';
import { LANE, part, SESSION } from '../../testing/journal-rows.ts';
import { scriptedModel } from '../../testing/scripted-model.ts';
import { testDaemon } from '../../testing/test-daemon.ts';

test('a start says in the log what it took up, and how many answers had expired', async () => {
  await using dir = await tempDir();
  {
    await using opened = await openJournal({ dir: dir.path, clock: systemClock });
    await opened.journal.enqueue([part('late', { expiresAt: 1 }), part('later', { expiresAt: 2 })]);
  }
  await using rig = await testDaemon({ dataDir: dir.path, model: scriptedModel([]) });
  const [recovered] = rig.logger.lines.filter(({ event }) => event === 'recovered');
  expect(recovered?.data).toEqual({ resumed: 0, buried: 0, expired: 2, unheard: 0, sending: 0 });
});

const TO = { channel: 'test', account: 'bot', chatId: 'chat-1' };
const OWNER = { channel: 'test', sender_ids: ['owner'], chat_id: 'owner' };

/** What is in the chats once a process died while it worked on these runs, and the next one gave them up. */
async function told(runs: readonly Partial<NewRun>[], chats: readonly string[]): Promise<readonly (readonly string[])[]> {
  await using dir = await tempDir();
  {
    await using opened = await openJournal({ dir: dir.path, clock: systemClock });
    for (const [n, run] of runs.entries()) {
      const lane = `${LANE}/${n}`;
      const authority = { principal: 'cli:local', role: 'owner', mode: 'full', policies: [] } as const;
      const prompt = { text: 'x', media: [], at: '2026-01-01T00:00:00Z' };
      const source = { kind: 'api', client: 'task.cli' } as const;
      const made = {
        key: `api/task.cli/${n}`,
        source,
        profile: 'session',
        lane,
        session: SESSION,
        prompt,
        replyTo: TO,
        authority,
      };
      await opened.journal.commit([{ kind: 'run', run: { ...made, ...run } as NewRun }]);
      await opened.journal.claim(n + 1);
    }
  }
  const gateway = { max_attempts: 1, owner: [OWNER] };
  await using rig = await testDaemon({ dataDir: dir.path, model: scriptedModel([]), gateway });
  await until('all is sent', async () => (await rig.daemon.journal.counts()).outbox.PENDING === 0);
  await rig.daemon.gateway.idle();
  return chats.map((chat) => rig.channel.texts(chat));
}

const GAVE_UP = 'gave up after 1 attempts (GH2002). It is kept; its owner can run it again.';

test('a task that is given up at a start says that it is one and how it goes on, elsewhere where its channel is gone', async () => {
  const task = { profile: 'task', record: { title: 'report', keepDays: 30 } } as const;
  const text = (n: number) =>
    `⚠️ Task ${n} “report” failed.\n\n⚠️ It was given up: ${GAVE_UP}\n\n\`/tasks resume ${n}\` goes on where it stopped.`;
  expect(await told([task, { ...task, replyTo: { ...TO, channel: 'gone' } }], ['chat-1', 'owner'])).toEqual([
    [text(1)],
    [`This could not be delivered where it was asked for.\n\n${text(2)}`],
  ]);
});

test('the result of a sub-agent in the background is sent as it begins where the run that was to tell it is given up', async () => {
  const source = { kind: 'run', parent: 'parent#c', callId: 'report' } as const;
  const tells = { since: 0, asker: 'parent', session: `${SESSION}#run:c`, excerpt: 'The sub-agent “c” has ended: gold' };
  const report = { key: 'parent#c#report', source, prompt: { text: 'gold', media: [], at: '2026-01-01T00:00:00Z', tells } };
  expect(await told([report], ['chat-1'])).toEqual([
    [`The sub-agent “c” has ended: gold\n\n⚠️ More could not be said of it: ${GAVE_UP}`],
  ]);
});

test('a job that is given up at a start says so once', async () => {
  const job = (due: number) => ({ key: `job/a/${due}`, source: { kind: 'job', job: 'a', due } }) as const;
  const again = { text: 'x', media: [], at: '2026-01-01T00:00:00Z', failsQuietly: true } as const;
  expect(await told([job(1), { ...job(2), prompt: again }], ['chat-1'])).toEqual([
    [`The scheduled job a failed.\n⚠️ It was given up: ${GAVE_UP}`],
  ]);
});
