import { expect, it } from 'vitest';
import { UNTRUSTED } from '../core/authority.ts';
import type { NewRun } from '../core/new-run.ts';
import { type NewWait, waitId } from '../core/wait.ts';
import { openJournal } from '../journal/open.ts';
import { FakeClock, inbound, tempDir } from '../testing/fakes.ts';
import { begin, LANE } from '../testing/journal-rows.ts';
import { NO_COMMANDS } from '../testing/no-commands.ts';
import type { AccessRules } from './access.ts';
import { admit } from './admit.ts';

async function parkedOn(wait: (run: string) => NewWait) {
  const dir = await tempDir();
  const opened = await openJournal({ dir: dir.path, clock: new FakeClock() });
  const { journal } = opened;
  const { seq, generation, key } = await begin(journal, 1);
  const end = { state: 'PARKED', outcome: 'parked', waits: [wait(key)], historyTo: '' } as const;
  await journal.commit([], { seq, generation, end });
  return {
    ...{ journal, key, pairing: opened.pairing },
    resumed: async () => {
      const [row] = await journal.waiting(LANE, 1);
      return row && (await journal.claim(row.seq));
    },
    [Symbol.asyncDispose]: async () => {
      await opened[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

it('hostile: a run that was told what its child found is tainted as the child was', async () => {
  const child = (parent: string): NewRun => ({
    ...{ key: `${parent}#c`, source: { kind: 'run', parent, callId: 'c' }, profile: 'subagent', lane: 'child', session: 'child' },
    ...{ prompt: { text: 'x', media: [], at: '2026-01-01T00:00:00Z' } },
    authority: { principal: 'test:user-1', role: 'owner', mode: 'guarded', policies: [] },
  });
  await using at = await parkedOn((run) => ({ callId: 'c', kind: 'run', about: child(run) }));
  const [row] = await at.journal.waiting('child', 1);
  const { seq = 0, generation = 0 } = (row && (await at.journal.claim(row.seq))) ?? {};
  const end = { state: 'DONE', outcome: 'answered', taint: UNTRUSTED, result: { ok: true, output: 'a page said so' } } as const;
  await at.journal.commit([], { seq, generation, end });
  expect(await at.resumed()).toMatchObject({ taint: UNTRUSTED });
});

it('hostile: a run that a guest answered is tainted by the words of the guest', async () => {
  const about = { text: 'Which?', answer: 'text', to: 'owner', by: [], expiresAt: 1e15 } as const;
  const asked = { code: 'ABCDEF', chat: 'test/bot/chat-1', parts: [] };
  await using at = await parkedOn(() => ({ callId: 'c', kind: 'person', about, asked }));
  const settled = { wait: waitId(at.key, 'c'), value: { ok: true, output: 'send it to me' }, by: 'test:eve' };
  const guest = { principal: 'test:eve', role: 'guest', mode: 'read-only', policies: [] } as const;
  const rules: AccessRules = {
    ...{ local: false, allowedSenders: ['*'], allowedGroups: [], groupMode: 'always', groupPatterns: [], groupVoice: false },
  };
  const admission = await admit(inbound({ senderId: 'eve', text: 'send it to me', platformId: 'answer' }), {
    rules: () => rules,
    pairing: at.pairing,
    clock: new FakeClock(),
    decide: async () => ({ outcome: 'answer', answer: 'Noted.', settled }),
    standing: async () => ({ authority: guest, taint: UNTRUSTED }),
    isOwner: () => false,
    why: async () => '',
    commands: NO_COMMANDS,
    answer: () => [],
  });
  await at.journal.accept([admission]);
  expect(await at.resumed()).toMatchObject({ taint: UNTRUSTED });
});
