import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { call, type Errand, fetch, send, write } from './errand.ts';

/** The web of the errands: bodies by host and path. */
export const PAGES: Readonly<Record<string, { readonly type: string; readonly body: string }>> = {
  'news.example/today': {
    type: 'text/html',
    body: `<title>News</title><article><h1>Rain</h1><p>${'It will rain in the north for days. '.repeat(20)}</p></article>`,
  },
  'shop.example/prices': {
    type: 'text/html',
    body: '<title>Prices</title><table><tr><th>fruit<th>euro<tr><td>apple<td>2<tr><td>pear<td>3</table>',
  },
  'table.example/': {
    type: 'text/html',
    body: "<title>Table</title><p id=free></p><button onclick=\"free.textContent = 'Free at ' + (9 + 10) + ':00'\">When?</button>",
  },
  'docs.example/': { type: 'text/html', body: '<p>Read <a href="/install">how to install it</a>.</p>' },
  'docs.example/install': { type: 'text/html', body: '<p>Run <code>make all</code>, then wait.</p>' },
  'api.example/rate': { type: 'application/json', body: '{"eur":1,"usd":1.25}' },
  'a.example/': { type: 'text/plain', body: 'Version 3 needs 2 GB.' },
  'b.example/': { type: 'text/plain', body: 'Version 4 needs 1 GB.' },
};

/** Pages, searches, schedules and what stands below a message. */
export const WORLD: readonly Errand[] = [
  {
    title: 'a page is summarised',
    say: 'Sum up http://news.example/today',
    moves: [fetch('http://news.example/today'), 'Rain in the north.'],
    check: ({ told }) => expect(told[0]).toContain('It will rain in the north'),
  },
  {
    title: 'prices of a page arrive as a table',
    say: 'A CSV of the prices at http://shop.example/prices',
    moves: [
      fetch('http://shop.example/prices'),
      ({ told }) =>
        write(
          'prices.csv',
          [...(told[0] ?? '').matchAll(/\| (apple|pear) +\| (\d)/g)].map(([, name, euro]) => `${name},${euro}\n`).join(''),
        ),
      send('prices.csv'),
      'Two fruits.',
    ],
    check: ({ files, told }) => {
      expect(files.map(({ name }) => name)).toEqual(['prices.csv']);
      expect(told[1]).toBe('Wrote 15 bytes to prices.csv (new file)');
    },
  },
  {
    title: 'a link is followed to the answer',
    say: 'How is it installed? http://docs.example/',
    moves: [
      fetch('http://docs.example/'),
      ({ told }) => fetch(/\((http:\/\/docs\.example\/install)\)/.exec(told[0] ?? '')?.[1] ?? 'http://none.example/'),
      ({ told }) => `With ${/`(make all)`/.exec(told[1] ?? '')?.[1]}`,
    ],
    check: ({ texts }) => expect(texts).toEqual(['With make all']),
  },
  {
    title: 'a page that answers only when its button is pressed is used, and its picture sent',
    say: 'When is a table free at http://table.example/?',
    moves: [
      call('browser', { action: 'navigate', url: 'http://table.example/' }),
      call('browser', { action: 'click', selector: 'text=When?' }),
      call('browser', { action: 'get_text', selector: '#free' }),
      call('browser', { action: 'screenshot' }),
      ({ told }) => send(/screenshots\/\w+\.png/.exec(told[3] ?? '')?.[0] ?? 'none'),
      ({ told }) => `Free at ${/Free at (19:00)/.exec(told[2] ?? '')?.[1]}`,
    ],
    needs: ['chromium'],
    async check({ texts, files, run }) {
      expect(texts).toContain('Free at 19:00');
      expect(await run('file', '--brief', files[0]?.path ?? '')).toMatch(/^PNG image data, 1280 x 800/);
    },
  },
  {
    title: 'two pages are compared',
    say: 'Which needs less, http://a.example/ or http://b.example/?',
    moves: [fetch('http://a.example/'), fetch('http://b.example/'), 'The second one.'],
    check: ({ told }) => expect(told.map((text) => /\d GB/.exec(text)?.[0])).toEqual(['2 GB', '1 GB']),
  },
  {
    title: 'a rate is read from an interface',
    say: 'How many dollars are 8 euro? http://api.example/rate',
    moves: [fetch('http://api.example/rate'), ({ told }) => `${8 * Number(/"usd":([\d.]+)/.exec(told[0] ?? '')?.[1])} dollars`],
    check: ({ texts }) => expect(texts).toEqual(['10 dollars']),
  },
  {
    title: 'a page that does not exist is told with its status',
    say: 'Read http://news.example/gone',
    moves: [fetch('http://news.example/gone'), ({ told }) => told[0] ?? ''],
    check: ({ texts }) => expect(texts[0]).toContain('HTTP status 404'),
  },
  {
    title: 'the web is searched, and the page that was found is read',
    say: 'What does version 4 need?',
    moves: [
      call('web_search', { query: 'version 4 memory' }),
      ({ told }) => fetch(/http:\/\/b\.example\//.exec(told[0] ?? '')?.[0] ?? 'http://none.example/'),
      ({ told }) => `${/\d GB/.exec(told[1] ?? '')?.[0]}`,
    ],
    check: ({ texts }) => expect(texts).toEqual(['1 GB']),
  },
  {
    title: 'a question is researched on several pages, and answered with its sources',
    say: 'Research what version 4 needs',
    moves: [
      call('deep_search', { query: 'Version 4: memory?' }),
      ({ told }) => {
        const [dir = 'none'] = /research\/version-4-memory-\w+/.exec(told[0] ?? '') ?? [];
        return call('synthesize_research', { research_dir: dir, query: 'What does version 4 need?' });
      },
      ({ told }) => `${told[1]?.split('\n')[2]} ${/http\S+/.exec(told[1] ?? '')?.[0]}`,
    ],
    check: async ({ told, texts, workspace }) => {
      expect(told[0]).toContain('2 pages of 3');
      expect(texts).toEqual(['Version 4 needs 1 GB [2]. http://a.example/']);
      const [file = 'none'] = /research\/\S+b\.example\.md/.exec(told[0] ?? '') ?? [];
      expect(await readFile(join(workspace, file), 'utf8')).toContain('Version 4 needs 1 GB.');
    },
  },
  {
    title: 'tools and the model are set up as their owner likes them',
    say: 'Search for more from now on, no, as before, and stay with this model',
    moves: [
      call('configure_tool', { action: 'set', tool: 'web_search', key: 'count', value: 8 }),
      call('configure_tool', { action: 'reset', tool: 'web_search' }),
      call('model_check', { action: 'list' }),
      ({ told }) => call('model_check', { action: 'switch', model: /^- ([^\s:]+)/m.exec(told[2] ?? '')?.[1] ?? 'none' }),
      'As you like it.',
    ],
    check: ({ told }) => {
      expect(told[0]).toBe('Set: web_search.count = 8 (built in: 5)');
      expect(told[1]).toBe('Reset: web_search.count = 5 (as built in)');
      expect(told[3]).toMatch(/^From the next message on, openai\/m answers here/);
    },
  },
  {
    title: 'a reminder is set',
    say: 'Remind me of the bins every Monday at 7',
    moves: [
      call('cron', { action: 'add', name: 'bins', message: 'Put out the bins', cron: '0 7 * * 1', timezone: 'Europe/Berlin' }),
      'I will remind you.',
    ],
    check: ({ told, jobs }) => {
      expect(told[0]).not.toContain('Error');
      expect(jobs).toContain('bins');
    },
  },
  {
    title: 'a reminder is taken back',
    say: 'Remind me in an hour. No, do not',
    moves: [
      call('cron', { action: 'add', name: 'later', message: 'Now', every_seconds: 3_600 }),
      call('cron', { action: 'remove', job_id: 'later' }),
      call('cron', { action: 'list' }),
      'Taken back.',
    ],
    check: ({ told, jobs }) => {
      expect(told[0]).not.toContain('Error');
      expect(jobs).not.toContain('later');
    },
  },
  {
    title: 'answers to choose from stand below the message',
    say: 'Where shall we eat?',
    moves: [call('offer_choices', { choices: ['Pizza', 'Soup'] }), 'Which one?'],
    check: ({ choices, texts }) => {
      expect(texts).toEqual(['Which one?']);
      expect(choices).toEqual(['Pizza', 'Soup']);
    },
  },
  {
    title: 'a message gets a thumb',
    say: 'I did it',
    moves: [call('react', { emoji: '👍' }), 'Well done.'],
    check: ({ reactions }) => expect(reactions).toContain('👍'),
  },
  {
    title: 'tools that are not described yet are asked for, and then used',
    say: 'I did it, celebrate',
    moves: [call('activate_tools', { group: 'chat' }), call('react', { emoji: '🎉' }), 'Well done.'],
    check: ({ told, reactions }) => {
      expect(told[0]).toMatch(/^Described from now on:\nchat: .*\breact\b/);
      expect(reactions).toContain('🎉');
    },
  },
];
