import { expect, test } from 'vitest';
import type { RunRow } from '../core/run.ts';
import { inbound } from '../testing/fakes.ts';
import { withReadableWords } from './readable-words.ts';

const said = (platformId: string, senderId: string) => inbound({ platformId, senderId, text: senderId, isGroup: true });

function collected(...others: readonly string[]): RunRow {
  const message = { ...said('a', 'ada'), queued: others.map((senderId) => said(`of ${senderId}`, senderId)) };
  const authority = { principal: 'test:ada', role: 'member', mode: 'guarded', policies: [] } as const;
  const facts = { seq: 1, key: message.id, profile: 'session', lane: 'l', session: 's', attempts: 0, acceptedAt: 0 } as const;
  return { ...facts, generation: 1, authority, source: { kind: 'chat' }, message };
}

const taken = async (row: RunRow, mayWrite: (senderId: string) => boolean, isRead = false) => {
  const options = { mayWrite: async (who: { senderId: string }) => mayWrite(who.senderId), wasRead: async () => isRead };
  return (await withReadableWords(row, options)).message;
};

test('S3 what a person said in a collected request is told to no model once they are blocked', async () => {
  const left = await taken(collected('ben', 'cleo'), (senderId) => senderId !== 'ben');
  expect(left).toEqual({ ...said('a', 'ada'), queued: [said('of cleo', 'cleo')] });
  expect(await taken(collected('ben'), () => false)).toEqual(said('a', 'ada'));
});

test('a collected request that a model has read keeps its authors, who are named in questions', async () => {
  const { message } = collected('ben', 'cleo');
  expect(await taken(collected('ben', 'cleo'), () => false, true)).toEqual(message);
});

test('the words of the person that the run is for stay together, whatever the config says by now', async () => {
  expect(await taken(collected('ada', 'ben'), () => false)).toEqual({ ...said('a', 'ada'), queued: [said('of ada', 'ada')] });
});
