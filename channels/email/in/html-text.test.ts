import { expect, test } from 'vitest';
import { leastCpuMs } from '../../../src/testing/cpu-time.ts';
import { textOf } from './body-line.ts';
import { htmlToLines } from './html-text.ts';

/** For 300 kB. */
const LIMIT_MS = 200;
const textFrom = (html: string) => textOf(htmlToLines(html));

test.each([
  ['display: none', '<div style="color:red; DISPLAY : none !important">no</div>'],
  ['visibility', '<span style="visibility:hidden">no</span>'],
  ['letters without size', "<p style='font-size:0px'>no</p>"],
  ['no opacity', '<p style="opacity:0.0">no</p>'],
  ['the hidden attribute', '<p hidden>no</p>'],
  ['what Word hides', '<span style=mso-hide:all>no</span>'],
  ['a box without height', '<div style="max-height:0;overflow:hidden">no</div>'],
  ['a box without width', '<div style="width:0px;overflow: hidden">no</div>'],
  ['words within a value', '<img alt="x> no" title = \'y> no\'>'],
  ['a style in entities', '<p style="display&#58;none">no</p>'],
  ['a style with a comment', '<p style="display:/* */none">no</p>'],
  ['a descendant of what is not there', '<div style="display:none"><p style="display:block">no</p></div>'],
  ['text of the head, of scripts and templates', '<title>no</title><script>no</script><template>no</template><style>no</style>'],
])('what a reader does not see is left out: %s', (_title, html) => {
  expect(textFrom(`<p>a</p>${html}<p>b</p>`)).toBe('a\nb');
});

test('a quotation mark without an end hides nothing behind its tag', () => {
  expect(textFrom('<p title="x>seen</p>')).toBe('seen');
  expect(textFrom('1 < 2 and 3 <4 > 2')).toBe('1 < 2 and 3 <4 > 2');
});

test('what a descendant shows again is there', () => {
  expect(textFrom('<td style="font-size:0"><span style="font-size:14px">seen</span> not</td>')).toBe('seen');
  expect(textFrom('<p style="visibility:hidden">not <b style="visibility:visible">seen</b></p>')).toBe('seen');
  expect(textFrom('<p style="display:none;display:block">seen</p>')).toBe('seen');
});

test('what is small, pale or empty is no reason to leave words out', () => {
  const styles = [
    'font-size:1px',
    'opacity:0.1',
    'height:0',
    'max-height:0',
    'font-size:0.9em',
    'overflow:hidden',
    'display:nonesuch',
  ];
  for (const style of styles) expect(textFrom(`<p style="${style}">seen</p>`), style).toBe('seen');
  expect(textFrom('<p title="display:none hidden" class="hidden">seen</p>')).toBe('seen');
});

test('a hidden element that is not closed hides up to the end of the one around it', () => {
  expect(textFrom('<div><span style="display:none">no</div><p>seen</p>')).toBe('seen');
});

test('lines and blanks of code and poems stay', () => {
  expect(textFrom('<pre>if x:\n    go()\n\n# end</pre>after')).toBe('if x:\n    go()\n\n# end\nafter');
});

test('a sign that begins no tag is text', () => {
  expect(textFrom('<p>3 < 4 and 5 <6 and a <b>b</b> &lt;c&gt; &Eacute;t&eacute; &notanentity; AT&T</p>')).toBe(
    '3 < 4 and 5 <6 and a b <c> Été &notanentity; AT&T',
  );
});

test('300 kB of tags that never close, or close nothing, is read in linear time', () => {
  const units = [
    ...[
      '<div>',
      '</div>',
      '<blockquote>',
      '<blockquote type=cite>',
      '<div class=gmail_quote>',
      '<p>',
      '<b><div></div>',
      '<pre>\n',
    ],
    ...[
      '<div style="',
      '<div style="display:none">',
      '<a href="x',
      '<a href=http://x>',
      '<i a',
      ' a=',
      "='",
      '&amp',
      '&#',
      '<',
      '<!--',
    ],
    ...['<div style="a:b;a:b;', '<p hidden></b>', '<td style=font-size:0>x', '<div></p>'],
  ];
  for (const unit of units) {
    const html = unit.repeat(Math.ceil(300_000 / unit.length));
    expect(
      leastCpuMs(LIMIT_MS, () => htmlToLines(html)),
      unit,
    ).toBeLessThan(LIMIT_MS);
    expect(
      leastCpuMs(LIMIT_MS, () => htmlToLines(`<div ${html}`)),
      `<div ${unit}`,
    ).toBeLessThan(LIMIT_MS);
  }
});
