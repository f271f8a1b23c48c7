import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { call, type Errand, send, shell, write } from './errand.ts';

const SALES = 'month,euro\nJan,100\nFeb,250\nMar,150\n';
const sales = { name: 'sales.csv', mime: 'text/csv', content: SALES };
const CHART = `awk -F, 'BEGIN { print "<svg xmlns=\\"http://www.w3.org/2000/svg\\" width=\\"200\\" height=\\"300\\">" }
NR > 1 { printf "<rect x=\\"%d\\" y=\\"%d\\" width=\\"40\\" height=\\"%d\\"/>\\n", (NR - 2) * 50, 300 - $2, $2 }
END { print "</svg>" }'`;

/** An archive of one file, as POSIX has it (ustar). */
function tarOf(name: string, content: string): Buffer {
  const head = Buffer.alloc(512);
  head.write(name, 0);
  head.write(['0000644', '0000000', '0000000', content.length.toString(8).padStart(11, '0'), '0'.repeat(11), ''].join('\0'), 100);
  head.write('        0', 148);
  head.write('ustar\x0000', 257);
  const sum = head.reduce((all, byte) => all + byte, 0);
  head.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return Buffer.concat([head, Buffer.from(content.padEnd(512, '\0')), Buffer.alloc(1024)]);
}

/** Tables, files and what a shell does with them. */
export const DATA: readonly Errand[] = [
  {
    title: 'the sum of a column',
    say: 'What did we sell?',
    file: sales,
    moves: [
      ({ upload }) => shell(`awk -F, 'NR > 1 { sum += $2 } END { print sum }' ${upload}`),
      ({ told }) => `${told[0]?.split('\n')[0]} euro`,
    ],
    check: ({ texts }) => expect(texts).toEqual(['500 euro']),
  },
  {
    title: 'a chart of a table arrives as a picture',
    say: 'Draw a chart of it',
    file: sales,
    needs: ['file'],
    moves: [({ upload }) => shell(`${CHART} ${upload} > chart.svg`), send('chart.svg', 'Sales'), 'Here is the chart.'],
    check: async ({ files, run }) => {
      expect(await run('file', '--brief', '--mime-type', files[0]?.path ?? '')).toBe('image/svg+xml');
      expect((await readFile(files[0]?.path ?? '', 'utf8')).match(/<rect/g)).toHaveLength(3);
    },
  },
  {
    title: 'lines are sorted, and each stays once',
    say: 'Remove what stands twice',
    file: { name: 'names.txt', mime: 'text/plain', content: 'bo\nal\nbo\n' },
    moves: [({ upload }) => shell(`sort -u ${upload} > unique.txt`), send('unique.txt'), 'Done.'],
    check: async ({ files }) => expect(await readFile(files[0]?.path ?? '', 'utf8')).toBe('al\nbo\n'),
  },
  {
    title: 'words are counted',
    say: 'How many words has it?',
    file: { name: 'essay.txt', mime: 'text/plain', content: 'one two three four\n' },
    moves: [({ upload }) => shell(`wc -w < ${upload}`), ({ told }) => `${told[0]?.split('\n')[0]?.trim()} words`],
    check: ({ texts }) => expect(texts).toEqual(['4 words']),
  },
  {
    title: 'JSON becomes a table',
    say: 'Make a CSV of it',
    file: { name: 'people.json', mime: 'application/json', content: '[{"n":"al","a":3},{"n":"bo","a":5}]' },
    moves: [
      ({ upload }) => call('read_file', { path: upload }),
      write('people.csv', 'name,age\nal,3\nbo,5\n'),
      send('people.csv'),
      'Two people.',
    ],
    check: async ({ told, files }) => {
      expect(told[0]).toContain('"n":"al"');
      expect(await readFile(files[0]?.path ?? '', 'utf8')).toContain('bo,5');
    },
  },
  {
    title: 'files are packed into an archive that opens',
    say: 'Pack my notes',
    needs: ['file', 'tar'],
    moves: [write('notes/a.md', 'a'), write('notes/b.md', 'b'), shell('tar czf notes.tgz notes'), send('notes.tgz'), 'Packed.'],
    check: async ({ files, run }) => {
      expect(await run('file', '--brief', files[0]?.path ?? '')).toContain('gzip compressed data');
      expect(await run('tar', 'tzf', files[0]?.path ?? '')).toContain('notes/b.md');
    },
  },
  {
    title: 'an archive that came is unpacked',
    say: 'What is in it?',
    file: { name: 'in.tgz', mime: 'application/gzip', content: gzipSync(tarOf('letter.txt', 'dear all\n')) },
    needs: ['tar'],
    moves: [({ upload }) => shell(`tar xzvf ${upload} && cat letter.txt`), ({ told }) => told[0]?.split('\n')[1] ?? ''],
    check: ({ texts }) => expect(texts).toEqual(['dear all']),
  },
  {
    title: 'the digest of a file is told',
    say: 'What is its checksum?',
    file: { name: 'x.bin', mime: 'application/octet-stream', content: 'abc' },
    moves: [({ upload }) => shell(`md5sum < ${upload}`), ({ told }) => told[0]?.slice(0, 8) ?? ''],
    check: ({ texts }) => expect(texts).toEqual(['90015098']),
  },
  {
    title: 'a date arrives as a file for the calendar',
    say: 'A calendar file for lunch on 1 March at noon, please',
    needs: ['file'],
    moves: [
      write(
        'lunch.ics',
        [
          'BEGIN:VCALENDAR',
          'VERSION:2.0',
          'PRODID:x',
          'BEGIN:VEVENT',
          'UID:1',
          'DTSTART:20270301T120000',
          'SUMMARY:Lunch',
          'END:VEVENT',
          'END:VCALENDAR',
          '',
        ].join('\r\n'),
      ),
      send('lunch.ics'),
      'Enjoy.',
    ],
    check: async ({ files, run }) => expect(await run('file', '--brief', files[0]?.path ?? '')).toContain('vCalendar'),
  },
  {
    title: 'a page of HTML arrives',
    say: 'Make a web page that says hello',
    needs: ['file'],
    moves: [
      write('hello.html', '<!doctype html><title>Hello</title><h1>Hello</h1>'),
      call('attach_file', { file_path: 'hello.html' }),
      'Here.',
    ],
    check: async ({ files, run }) => expect(await run('file', '--brief', files[0]?.path ?? '')).toContain('HTML document'),
  },
  {
    title: 'a note grows',
    say: 'Add milk to my list',
    moves: [
      write('list.md', '- bread\n'),
      call('edit_file', { path: 'list.md', old_string: '- bread\n', new_string: '- bread\n- milk\n' }),
      call('read_file', { path: 'list.md' }),
      'Added.',
    ],
    check: async ({ workspace }) => expect(await readFile(join(workspace, 'list.md'), 'utf8')).toBe('- bread\n- milk\n'),
  },
  {
    title: 'a text arrives in another language',
    say: 'Translate it into German',
    file: { name: 'menu.txt', mime: 'text/plain', content: 'soup\nbread\n' },
    moves: [
      ({ upload }) => call('read_file', { path: upload }),
      write('menu.de.txt', 'Suppe\nBrot\n'),
      send('menu.de.txt', 'Übersetzt'),
      'Fertig.',
    ],
    check: ({ told, files, texts }) => {
      expect(told[0]).toContain('soup');
      expect(files.map(({ name }) => name)).toEqual(['menu.de.txt']);
      expect(texts).toContain('Übersetzt');
    },
  },
];
