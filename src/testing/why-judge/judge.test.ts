import { expect, test } from 'vitest';
import { play } from './play.ts';

test('why names the true reason of each of 200 mixed messages across a kill, and no word of them is in the record', async () => {
  const { judged, wrong } = await play({ messages: 200, kills: 1, commands: [['logs', '--json']] });
  expect(wrong).toEqual([]);
  expect(judged).toBeGreaterThanOrEqual(200);
});
