import { expect, it } from 'vitest';
import { expectQuick } from '../testing/quick.ts';
import { ruleOn } from './shell-rules.ts';

it.each([
  ...[
    'rm -rf /',
    'rm  -fr  /*',
    'sudo rm --recursive --force /',
    'cd /; rm -r -f /',
    'dd if=/dev/zero of=x',
    'true && dd bs=1 if=/x',
  ],
  ...[
    'mkfs.ext4 /dev/sda',
    '/sbin/mkfs /dev/sda',
    ':(){ :|:& };:',
    ': ( ) { : | : & } ; :',
    'chmod -R 777 /',
    'bomb(){ bomb|bomb& };bomb',
  ],
])('never runs: %s', (command) => {
  expect(ruleOn(command)?.kind).toBe('deny');
});

it.each([
  ...[
    'sudo ls',
    'rm -rf build',
    'rm -r -f a b',
    'x=1; rm -fr "$x"',
    'git push --force',
    'git push origin main -f',
    'git reset --hard HEAD~1',
  ],
])('asks about: %s', (command) => {
  expect(ruleOn(command)?.kind).toBe('ask');
});

it.each([
  ...[
    'ls -la /',
    'rm file',
    'rm -r build',
    'echo add if=1',
    'git push',
    'git reset HEAD',
    'grep -rf patterns /srv',
    'cat mkfs.txt',
    'pseudo x',
  ],
])('says nothing of: %s', (command) => {
  expect(ruleOn(command)).toBeUndefined();
});

it('reads a long command at once', () => {
  for (const piece of ['a', '-', '(){a', ' ', '/', ':(){', 'dd ', 'git push ', 'git reset ', 'rm ', '"/', 'mkfs.'])
    expectQuick(piece, (text) => ruleOn(`x ${text}`));
});
