import { expect, test } from 'vitest';
import { writtenIn } from './cards.ts';

const app = { id: '1', bot: true };

test('text that a program laid out in components is read in order', () => {
  const components = [
    {
      type: 17,
      components: [
        { type: 10, content: '# Alert' },
        { type: 9, components: [{ type: 10, content: 'disk is full' }], accessory: { type: 2, label: 'Open' } },
        { type: 14 },
        { type: 12, items: [{ media: { url: 'https://x' }, description: 'a graph' }, { media: { url: 'https://y' } }] },
      ],
    },
    { type: 1, components: [{ type: 2, label: 'Mute' }, { type: 2 }] },
  ];
  expect(writtenIn({ author: app, content: '', flags: 1 << 15, components })).toBe(
    ['# Alert', 'disk is full', '(button: Open)', '(picture: a graph)', '(button: Mute)'].join('\n'),
  );
});

test('the card of a program is read, the preview of a link is not', () => {
  const card = {
    type: 'rich',
    title: 'Build 7',
    description: 'failed',
    fields: [{ name: 'branch', value: 'main' }],
    footer: { text: 'CI' },
  };
  expect(writtenIn({ author: app, content: 'see', embeds: [card] })).toBe('see\nBuild 7\nfailed\nbranch: main\nCI');
  expect(writtenIn({ author: { id: '2' }, webhook_id: '3', content: '', embeds: [card] })).toContain('Build 7');
  const preview = { ...card, type: 'article' };
  expect(writtenIn({ author: { id: '2' }, content: 'https://e.org', embeds: [preview, card] })).toBe('https://e.org');
});

test('a card without end is cut, and one nested without end is read as far as it may nest', () => {
  let component: object = { type: 10, content: 'deep' };
  for (let depth = 0; depth < 1_000; depth += 1) component = { type: 17, components: [component] };
  expect(writtenIn({ author: app, components: [component] })).toBe('');
  const long = { type: 10, content: 'x'.repeat(10_000) };
  expect(writtenIn({ author: app, components: [long, long] })).toHaveLength(6_000);
});
