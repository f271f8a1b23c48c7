import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readPostContent } from '../../../src/simulator/feishu/posts.ts';
import { type Rendered, render } from './format.ts';

const form = async (markdown: string, options: Partial<Parameters<typeof render>[1]> = {}): Promise<Rendered> =>
  render(markdown, { plain: false, ...options });

/** The Markdown of a card's only text element. */
async function card(markdown: string): Promise<string> {
  const { type, content } = await form(markdown, { form: 'interactive' });
  expect(type).toBe('interactive');
  const { elements } = content as { elements: { tag: string; content: string }[] };
  expect(elements).toHaveLength(1);
  return elements[0]?.content ?? '';
}

async function elements(markdown: string): Promise<readonly Record<string, unknown>[]> {
  return ((await form(markdown)).content as { elements: Record<string, unknown>[] }).elements;
}

/** The lines of rich text. */
async function post(markdown: string): Promise<readonly (readonly object[])[]> {
  const { type, content } = await form(markdown, { form: 'post' });
  expect(type).toBe('post');
  return (content as { zh_cn: { content: object[][] } }).zh_cn.content;
}

test.each([
  ['words', 'text', 'just words, and more'],
  ['an address', 'text', 'see https://e.org/a_b'],
  ['lines', 'text', 'one\ntwo'],
  ['bold', 'post', 'a **b**'],
  ['a link with words', 'post', '[here](https://e.org)'],
  ['inline code', 'post', 'run `ls`'],
  ['a sign a text message would read as a tag', 'post', 'a < b'],
  ['a list', 'interactive', '- a\n- b'],
  ['a heading', 'interactive', '# a'],
  ['a quote', 'interactive', '> a'],
  ['code', 'interactive', '```\nx\n```'],
  ['a table', 'interactive', '| a |\n|---|\n| 1 |'],
  ['a rule', 'interactive', 'a\n\n---\n\nb'],
])('%s go out as %s', async (_what, type, markdown) => {
  expect((await form(markdown)).type).toBe(type);
});

test.each([
  ['bold, italic, struck', '**a** *b* ~~c~~', '**a** *b* ~~c~~'],
  ['marks inside marks', '**a *b* c**', '**a** ***b*** **c**'],
  ['inline code', 'run `ls -l`', 'run `ls -l`'],
  ['code with signs of its own', '`a<b`', 'a&#60;b'],
  ['a link', '[a_b](https://e.org/x_y?z=(1))', '[a&#95;b](https://e.org/x_y?z=%281%29)'],
  ['a link that apps must not open', '[a](javascript:alert(1))', 'a (javascript:alert(1))'],
  ['a picture is not loaded', '![cat](https://e.org/c.png)', '[cat](https://e.org/c.png)'],
  ['signs that mean something', 'a\\*b\\_c \\[d] <e> & f~g', 'a&#42;b&#95;c &#91;d&#93; &#60;e&#62; &#38; f&#126;g'],
  ['a sign that begins a line', '\\# a', '&#35; a'],
  ['a heading', '## a', '**a**'],
  ['a list', '- a\n- b', '• a\n• b'],
  ['an ordered list', '3. a\n4. b', '3. a\n4. b'],
  [
    'a nested list',
    '- a\n  1. b\n     - c',
    '• a\n\u00a0\u00a0\u00a0\u00a01. b\n\u00a0\u00a0\u00a0\u00a0\u00a0\u00a0\u00a0\u00a0• c',
  ],
  ['a task list', '- [x] a\n- [ ] b', '• ☑ a\n• ☐ b'],
  ['a quote', '> a\n> b', '> a\n> b'],
  ['a quote in a quote', '> a\n> > b', '> a\n> > b'],
  ['code', '```ts\nconst a = 1 < 2;\n```', '```ts\nconst a = 1 < 2;\n```'],
  ['code in a list', '- a\n  ```\n  x\n  y\n  ```', '• a\n```\nx\ny\n```'],
  ['code in a quote', '> ```\n> x\n> y\n> ```', '```\nx\ny\n```'],
  ['a fence within code', '````\n```\n````', '```\n`\u200b``\n```'],
  ['paragraphs', 'a\n\nb', 'a\n\nb'],
])('in a card %s', async (_what, markdown, expected) => {
  expect(await card(markdown)).toBe(expected);
});

test('A31 nobody is called by what a model writes', async () => {
  const call = '<at id=all></at> <at user_id="all">x</at> <person id="ou_1"></person>';
  expect(await card(call)).not.toMatch(/<\/?(?:at|person)/);
  expect(await card(`\`\`\`\n${call}\n\`\`\``)).not.toMatch(/<\/?(?:at|person)/);
  expect(await card(`\`${call}\``)).not.toMatch(/<\/?(?:at|person)/);
  for (const options of [{}, { plain: true }]) {
    const { type } = await form(call, options);
    expect(type).toBe('post');
  }
  expect(await post(call)).toEqual([[{ tag: 'text', text: call }]]);
});

test('a table is one the card can page through', async () => {
  const [table] = await elements(`| Name | **Age** |\n|---|---|\n${'| a_b | [x](https://e.org) |\n'.repeat(12)}`);
  expect(table).toMatchObject({
    tag: 'table',
    page_size: 10,
    columns: [
      { name: 'c0', display_name: 'Name', data_type: 'text' },
      { name: 'c1', display_name: 'Age', data_type: 'text' },
    ],
  });
  expect(table).toMatchObject({ rows: expect.arrayContaining([{ c0: 'a_b', c1: 'x (https://e.org)' }]) });
});

test('text around tables and rules keeps its place', async () => {
  const tags = (await elements('a\n\n| x |\n|---|\n| 1 |\n\nb\n\n---\n\nc')).map(({ tag, content }) => content ?? tag);
  expect(tags).toEqual(['a', 'table', 'b', 'hr', 'c']);
});

test('a card takes five tables; with six the same words go out as rich text', async () => {
  const tables = (count: number) => Array.from({ length: count }, (_, n) => `| t${n} |\n|---|\n| 1 |`).join('\n\n');
  expect((await form(tables(5))).type).toBe('interactive');
  const six = await form(tables(6));
  expect(six.type).toBe('post');
  expect(JSON.stringify(six.content)).toContain('t5');
});

test('what is larger than a card goes out as rich text, and what is larger than that as text', async () => {
  const medium = `# ${'&'.repeat(6_200)}`;
  expect((await form(medium)).type).toBe('post');
  const large = `# ${'长'.repeat(12_000)}`;
  expect(await form(large)).toEqual({ type: 'text', content: { text: large } });
});

test('the longest part of three-byte letters fits into a card, lists and escapes included', async () => {
  const line = '- 一二三四五六七八九十_一二三四五六七八\n';
  const { type, content } = await form(line.repeat(4_000 / line.length));
  expect(type).toBe('interactive');
  expect(() => readPostContent(type, JSON.stringify(content))).not.toThrow();
});

test('rich text shows every construct', async () => {
  expect(await post('**a** *b* ~~c~~ `d` [e](https://e.org) [f](javascript:x)')).toEqual([
    [
      { tag: 'text', text: 'a', style: ['bold'] },
      { tag: 'text', text: ' ' },
      { tag: 'text', text: 'b', style: ['italic'] },
      { tag: 'text', text: ' ' },
      { tag: 'text', text: 'c', style: ['lineThrough'] },
      { tag: 'text', text: ' ' },
      { tag: 'text', text: '`d`' },
      { tag: 'text', text: ' ' },
      { tag: 'a', text: 'e', href: 'https://e.org' },
      { tag: 'text', text: ' ' },
      { tag: 'text', text: 'f (javascript:x)' },
    ],
  ]);
  expect(await post('> a\n\n```python\nx\n```\n\n---\n\n| h |\n|---|\n| 1 |')).toEqual([
    [
      { tag: 'text', text: '> ' },
      { tag: 'text', text: 'a' },
    ],
    [{ tag: 'text', text: ' ' }],
    [{ tag: 'code_block', language: 'PYTHON', text: 'x' }],
    [{ tag: 'text', text: ' ' }],
    [{ tag: 'hr' }],
    [{ tag: 'text', text: ' ' }],
    [{ tag: 'text', text: 'h', style: ['bold'] }],
    [{ tag: 'text', text: '1' }],
  ]);
  expect(await post('```brainfuck\n+\n```')).toEqual([[{ tag: 'code_block', text: '+' }]]);
});

test('plain text is not touched, and choices make it a card', async () => {
  expect(await form('a **b** _c_', { plain: true })).toEqual({ type: 'text', content: { text: 'a **b** _c_' } });
  const choices = [{ label: 'x'.repeat(120), value: 'v' }];
  const { content } = await form('a **b**', { plain: true, choices, press: { chat: 'oc_1' } });
  expect(content).toMatchObject({
    config: { update_multi: true },
    elements: [
      { tag: 'div', text: { tag: 'plain_text', content: 'a **b**' } },
      {
        tag: 'action',
        actions: [{ tag: 'button', text: { content: `${'x'.repeat(99)}…` }, value: { choice: 'v', chat: 'oc_1' } }],
      },
    ],
  });
});

test('text that renders to nothing goes out as it was written', async () => {
  expect(await form('#')).toEqual({ type: 'text', content: { text: '#' } });
});

test('whatever a model writes, the platform takes the result and none of its words are lost', async () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '**',
      '_',
      '~~',
      '`',
      '```\n',
      '> ',
      '- ',
      '1. ',
      '# ',
      '| a | b |\n|---|---|\n',
      '[x](',
      ')',
      '<at id=all>',
      '\u0001b',
      '\u0012',
      '\u0010{',
    ),
    fc.constantFrom('\n', '\n\n', ' ', '![', ']', '(https://e.org "t")', '---\n', '<', '&', '"', '\\', '😀', 'word'),
    fc.string({ maxLength: 6 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 30 }), fc.boolean(), async (pieces, plain) => {
      // It stands on its own line: behind an opening fence it would be the code's language, which is no word.
      const text = `${pieces.join('')}\n\nend`;
      for (const fixed of [undefined, 'post', 'interactive'] as const) {
        const { type, content } = await form(text, { plain, form: fixed });
        readPostContent(type, JSON.stringify(content));
        expect(JSON.stringify(content)).toContain('end');
        // Rich text and the cells of a table are shown as they are; what is Markdown must not hold a tag.
        expect(markdownOf(content)).not.toMatch(/<at/);
        if (type === 'text') expect(JSON.stringify(content)).not.toMatch(/<at/);
      }
    }),
    { numRuns: 300 },
  );
});

function markdownOf(content: object): string {
  const { elements = [] } = content as { elements?: { tag: string; content?: string }[] };
  return elements.map((element) => (element.tag === 'markdown' ? element.content : '')).join('\n');
}
