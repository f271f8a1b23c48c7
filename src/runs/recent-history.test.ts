import { expect, test } from 'vitest';
import type { SessionMessage } from '../core/session.ts';
import { line } from '../testing/agent-run.ts';
import { recentHistory } from './recent-history.ts';

const TURNS = 400;
const MOST = 50;

/** After each turn of a question, a call, its result and an answer: what the next turn is given. */
function histories(most: number): (readonly SessionMessage[])[] {
  const all: SessionMessage[] = [];
  return Array.from({ length: TURNS }, (_, turn) => {
    const turnLine = (role: SessionMessage['role'], suffix: string) => line(role, suffix, { id: `m${turn}:${suffix}` });
    all.push(turnLine('user', 'in'), turnLine('assistant', 'a1'), turnLine('tool', 't1'), turnLine('assistant', 'a2'));
    return recentHistory([...all], most);
  });
}

test('a history that is not too long stays whole, a longer one keeps more than half of the limit and its newest messages', () => {
  for (const [turn, history] of histories(MOST).entries()) {
    expect(history.at(-1)?.id).toBe(`m${turn}:a2`);
    const total = (turn + 1) * 4;
    if (total <= MOST) expect(history).toHaveLength(total);
    else expect(history.length).toBeGreaterThan(MOST / 2);
    expect(history.length).toBeLessThanOrEqual(MOST);
  }
});

test('M7 it begins with the same message over turns: of 400 turns most find the beginning of their prompt in the cache', () => {
  const firsts = histories(MOST).map(([first]) => first);
  expect(firsts.some((first) => first?.role === 'tool')).toBe(false);
  const changes = firsts.filter((first, turn) => turn > 0 && first?.id !== firsts[turn - 1]?.id).length;
  expect(changes).toBeLessThan(TURNS / 2);
});

test('what it begins with does not depend on how much older history was read', () => {
  const [all = []] = histories(10_000).slice(-1);
  expect(recentHistory(all.slice(-MOST - 1), MOST)).toEqual(recentHistory(all, MOST));
});

test('a limit of one message is kept', () => {
  expect(histories(1).map((history) => history.map(({ id }) => id))).toEqual(
    Array.from({ length: TURNS }, (_, turn) => [`m${turn}:a2`]),
  );
});

test('the summary of what was before stands at the beginning, within the limit and however short the rest is', () => {
  const summary = line('system', 'They talked.', { id: 'compacted:m0' });
  const later = histories(10_000).at(11) ?? [];
  for (const most of [2, 10, 30, 47, 48, 49]) {
    const given = recentHistory([summary, ...later], most);
    expect(given[0], `of ${most}`).toBe(summary);
    expect(given.length).toBeLessThanOrEqual(most);
    expect(given.slice(1)).toEqual(later.slice(-(given.length - 1)));
  }
  expect(recentHistory([summary, ...later], 1)).toEqual(later.slice(-1));
});
