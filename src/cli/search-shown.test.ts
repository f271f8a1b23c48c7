import { expect, test } from 'vitest';
import { FakeClock } from '../testing/fakes.ts';
import { searchShown } from './search-shown.ts';

test('a search says each second how far it is, and nothing where it takes less', async () => {
  const clock = new FakeClock();
  const said: string[] = [];
  const shown = searchShown({ say: (text) => void said.push(text) }, clock);
  for (let n = 1; n <= 25; n += 1) {
    await clock.advance(100);
    shown({ files: n, bytes: n * 10_000_000 });
  }
  expect(said).toEqual(['searching files: 10 files, 100 MB so far', 'searching files: 20 files, 200 MB so far']);
});
