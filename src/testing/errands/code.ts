import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { call, type Errand, send, shell, write } from './errand.ts';

const PRICE = 'def total(prices):\n    sum = 0\n    for price in prices:\n        sum += price\n    return sum * 2\n';
const AUTHOR = '-c user.name=Ada -c user.email=ada@site.example';
const REPO = [
  ...[
    'git init -q -b main shop',
    'cd shop',
    "printf 'tax = 7\\n' > conf.ini",
    'git add .',
    `git ${AUTHOR} commit -qm 'Add the tax'`,
  ],
  ...["printf 'tax = 19\\n' > conf.ini", `git ${AUTHOR} commit -qam 'Raise the tax'`],
].join(' && ');

/** Repositories, scripts and searches. */
export const CODE: readonly Errand[] = [
  {
    title: 'a failing test is found, mended and run again',
    say: 'My test fails. Can you mend it?',
    moves: [
      write('test.sh', 'r=$(sh add.sh 2 3)\n[ "$r" = 5 ] && echo passed || { echo "failed: $r"; exit 1; }\n'),
      write('add.sh', 'echo $(($1 - $2))\n'),
      shell('sh test.sh'),
      call('edit_file', { path: 'add.sh', old_string: '$1 - $2', new_string: '$1 + $2' }),
      shell('sh test.sh'),
      ({ told }) => `Mended: ${told.at(-1)?.split('\n')[0]}`,
    ],
    check: ({ told, texts }) => {
      expect(told[2]).toContain('failed: -1\nExit code: 1');
      expect(texts).toEqual(['Mended: passed']);
    },
  },
  {
    title: 'a diff from a colleague is applied',
    say: 'Please apply the diff of my colleague to price.py',
    moves: [
      write('price.py', PRICE),
      call('diff_edit', { path: 'price.py', diff: '@@ -5 +5 @@\n-    return sum * 2\n+    return sum\n' }),
      'Applied.',
    ],
    check: async ({ workspace }) => expect(await readFile(join(workspace, 'price.py'), 'utf8')).toBe(PRICE.replace(' * 2', '')),
  },
  {
    title: 'a key is renamed in all files that have it',
    say: 'Rename the key colour to color everywhere',
    moves: [
      write('a.json', '{ "colour": 1 }\n'),
      write('sub/b.json', '{ "colour": 2 }\n'),
      call('grep', { pattern: 'colour' }),
      call('edit_file', { path: 'a.json', old_string: 'colour', new_string: 'color' }),
      call('edit_file', { path: 'sub/b.json', old_string: 'colour', new_string: 'color' }),
      call('grep', { pattern: 'colour' }),
      'Renamed in two files.',
    ],
    check: ({ told }) => {
      expect(told[2]).toContain('a.json:1');
      expect(told[2]).toContain('sub/b.json:1');
      expect(told[5]).toBe('No matches');
    },
  },
  {
    title: 'the history of a repository is told',
    say: 'What happened last in the shop repository?',
    needs: ['git'],
    moves: [
      shell(REPO),
      call('git', { action: 'log', path: 'shop' }),
      ({ told }) => `Last: ${told[1]?.split('\n')[0]?.slice(8)}`,
    ],
    check: ({ texts }) => expect(texts[0]).toMatch(/Ada: Raise the tax$/),
  },
  {
    title: 'who changed a line is told',
    say: 'Who changed the tax?',
    needs: ['git'],
    moves: [shell(REPO), call('git', { action: 'blame', path: 'shop/conf.ini' }), ({ told }) => told[1] ?? ''],
    check: ({ told }) => expect(told[1]).toMatch(/\(Ada +\d{4}-\d\d-\d\d 1\) tax = 19/),
  },
  {
    title: 'a change is made in a repository, and its patch arrives',
    say: 'Set the tax to 21 and send me the patch',
    needs: ['git', 'file'],
    moves: [
      shell(REPO),
      call('edit_file', { path: 'shop/conf.ini', old_string: '19', new_string: '21' }),
      shell('cd shop && git diff > ../tax.patch'),
      send('tax.patch'),
      'Here it is.',
    ],
    check: async ({ files, run }) => {
      expect(await run('file', '--brief', files[0]?.path ?? '')).toContain('diff output');
      expect(await readFile(files[0]?.path ?? '', 'utf8')).toContain('+tax = 21');
    },
  },
  {
    title: 'the outline of a source file is told',
    say: 'Which functions has price.py?',
    moves: [
      write('price.py', `${PRICE}\nclass Cart:\n    def add(self):\n        pass\n`),
      call('code_structure', { path: 'price.py' }),
      'Two.',
    ],
    check: ({ told }) => {
      for (const part of ['total', 'Cart', 'add']) expect(told[1]).toContain(part);
    },
  },
  {
    title: 'what is left to do is found',
    say: 'List my open notes',
    moves: [
      write('a.ts', '// LATER: tests\nlet a = 1;\n'),
      write('b.ts', 'let b; // nothing to do\n'),
      call('grep', { pattern: 'LATER: (.*)', file_pattern: '*.ts' }),
      ({ told }) => `To do: ${told[2]}`,
    ],
    check: ({ texts }) => expect(texts).toEqual(['To do: a.ts:1: // LATER: tests']),
  },
  {
    title: 'files are found by their names',
    say: 'Where are my notes?',
    moves: [write('x/notes.md', 'n'), write('y/z/notes.md', 'm'), call('glob', { pattern: '**/notes.md' }), 'In two places.'],
    check: ({ told }) => {
      for (const path of ['x/notes.md', 'y/z/notes.md']) expect(told[2]).toContain(path);
    },
  },
  {
    title: 'a directory is listed by the name that another platform has for it',
    say: 'What is in my workspace?',
    moves: [write('one.txt', '1'), call('list_directory', { path: '.' }), ({ told }) => `There is ${told[1]}`],
    check: ({ texts }) => expect(texts[0]).toContain('[file] one.txt'),
  },
  {
    title: 'a long log is searched in pieces',
    say: 'What is the last error of the build?',
    moves: [
      shell('for i in $(seq 20000); do echo "line $i ok"; done; echo "ERROR: disk full"'),
      ({ told }) => {
        const path = /\.gatehouse\/outputs\/[\w.-]+/.exec(told[0] ?? '')?.[0] ?? 'none';
        return call('read_file', { path, start_line: 19_999 });
      },
      ({ told }) => `It is: ${/ERROR: .*/.exec(told[1] ?? '')?.[0]}`,
    ],
    check: ({ texts }) => expect(texts).toEqual(['It is: ERROR: disk full']),
  },
  {
    title: 'something that takes a while is waited for',
    say: 'Tell me when the build is there',
    moves: [
      shell('echo built > result'),
      call('wait', { seconds: 1 }),
      shell('cat result'),
      ({ told }) => `${told[2]?.split('\n')[0]}!`,
    ],
    check: ({ told, texts }) => {
      expect(told[1]).toBe('Waited 1 s');
      expect(texts).toEqual(['built!']);
    },
  },
];
