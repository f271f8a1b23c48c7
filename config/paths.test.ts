import { expect, test } from 'vitest';
import { resolveDataDir } from './paths.ts';

const base = { cwd: '/srv/cwd', home: '/home/me' };

test.each([
  ['flag', { GATEHOUSE_HOME: '/env', STATE_DIRECTORY: '/state' }, '/srv/cwd/flag'],
  [undefined, { GATEHOUSE_HOME: '/env', STATE_DIRECTORY: '/state' }, '/env'],
  [undefined, { GATEHOUSE_HOME: '', STATE_DIRECTORY: '/state:/other' }, '/state'],
  [undefined, {}, '/home/me/.gatehouse'],
  [undefined, { GATEHOUSE_HOME: '~/data' }, '/home/me/data'],
  ['', { STATE_DIRECTORY: '' }, '/home/me/.gatehouse'],
])('with --data-dir %s and %j the data directory is %s', (flag, env, expected) => {
  expect(resolveDataDir(flag, { ...base, env })).toBe(expected);
});
