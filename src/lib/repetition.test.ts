import { describe, expect, test } from 'vitest';
import { repetitionStart } from './repetition.ts';

describe('a tail that repeats itself', () => {
  test('four copies of a sentence in a row are a loop, three are not', () => {
    const sentence = 'I will look at the file again now. ';
    expect(repetitionStart(`Well: ${sentence.repeat(3)}`)).toBeUndefined();
    const text = `Well: ${sentence.repeat(4)}`;
    expect(text.slice(0, repetitionStart(text)).trim()).toBe('Well: I will look at the file again now.');
  });

  test('a short unit must fill the window', () => {
    expect(repetitionStart('0, '.repeat(100))).toBeUndefined();
    expect(repetitionStart('0, '.repeat(200))).toBeDefined();
  });

  test('tables whose rows end alike, rules and borders are no loop', () => {
    const rows = ['alpha', 'beta', 'gamma', 'delta', 'epsilon']
      .map((name) => `| ${name} | enabled | 2026-01-01 | owner |\n`)
      .join('');
    expect(repetitionStart(rows)).toBeUndefined();
    expect(repetitionStart('-'.repeat(600))).toBeUndefined();
    expect(repetitionStart(`|${'---|'.repeat(200)}`)).toBeUndefined();
  });

  test('M11 what repeats in a code fence or in a table is content, after the fence it is a loop again', () => {
    const lines = '  push(0x00, 0x00, 0x00, 0x00);\n'.repeat(20);
    for (const fence of ['```', '~~~']) {
      expect(repetitionStart(`Here:\n${fence}ts\n${lines}`)).toBeUndefined();
      expect(repetitionStart(`Here:\n${fence}ts\nlet a;\n${fence}\n${lines}`)).toBeDefined();
    }
    expect(repetitionStart('```\na command and its output\n```\n'.repeat(20))).toBeUndefined();
    expect(repetitionStart(`| a | b |\n|---|---|\n${'| nothing to report | none |\n'.repeat(20)}`)).toBeUndefined();
    expect(repetitionStart(`| a |\n|---|\n| ${'the same words in one cell again '.repeat(20)}`)).toBeUndefined();
  });

  const HTML = '<li class="item"><a href="#">Entry</a></li>\n'.repeat(66);

  test('equal lines are content in every kind of fence, also one that is not closed', () => {
    const openings = [
      '```html\n',
      '> ```html\n',
      '- ```html\n',
      '1. Do this:\n\n   ```html\n',
      // One fence in another: three backticks do not close four.
      '````markdown\n```html\n',
      '````markdown\n```html\n```\n',
      // The other kind of marker neither closes nor opens.
      '```html\n~~~\n',
      // Code of one line is no fence.
      '```npm i``` first, then:\n\n```html\n',
      // A marker with words behind it closes nothing.
      '```html\n``` not the end\n',
    ];
    for (const opening of openings)
      expect([opening, repetitionStart(`Here:\n\n${opening}<ul>\n${HTML}`)]).toEqual([opening, undefined]);
  });

  test('behind a fence that is closed, equal lines are a loop', () => {
    for (const closed of ['```html\n<ul>\n```\n', '~~~\n```\n~~~~\n', '````\n```\n````\n', '> ```\n> a\n> ```\n\n'])
      expect([closed, repetitionStart(`Here:\n\n${closed}${HTML}`) !== undefined]).toEqual([closed, true]);
  });

  test('equal lines of indented code are content, equal sentences in a list are a loop', () => {
    expect(repetitionStart(`Here:\n\n${HTML.replaceAll(/^(?=.)/gm, '    ')}`)).toBeUndefined();
    expect(repetitionStart(`Here:\n\n${HTML.replaceAll(/^(?=.)/gm, '\t')}`)).toBeUndefined();
    expect(repetitionStart(`Here:\n\n${'- I look at the file again now.\n'.repeat(20)}`)).toBeDefined();
  });

  test('rows of a table without outer bars are content', () => {
    expect(repetitionStart(`a | b\n--|--\n${'nothing to report | none\n'.repeat(30)}`)).toBeUndefined();
    expect(repetitionStart(`a | b\n--|--\n${'nothing to report | none\n'.repeat(30)}nothing to `)).toBeUndefined();
  });
});
